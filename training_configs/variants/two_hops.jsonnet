// Beyond the paper: its future work, two hops of the attention layer.
(import '../bidaf_squad.jsonnet') + {
  num_hops:: 2,
}
