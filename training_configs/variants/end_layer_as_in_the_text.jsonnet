// The end layer as the paper's text has it; not in its tables.
(import '../bidaf_squad.jsonnet') + {
  end_input:: 'paper_text',
}
