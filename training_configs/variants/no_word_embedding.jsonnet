// Table 1b, "No word embedding" (paper: EM 55.5, F1 66.8).
(import '../bidaf_squad.jsonnet') + {
  word_embedding:: false,
}
