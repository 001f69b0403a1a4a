// Without the highway network; not in the paper's tables.
(import '../bidaf_squad.jsonnet') + {
  num_highway_layers:: 0,
}
