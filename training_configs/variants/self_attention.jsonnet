// Beyond the paper: the passage also attends to itself (Clark & Gardner, 2018).
(import '../bidaf_squad.jsonnet') + {
  self_attention:: true,
}
