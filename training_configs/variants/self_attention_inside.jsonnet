// Beyond the paper: the passage attends to itself between the modelling layers (Clark & Gardner, 2018).
(import '../bidaf_squad.jsonnet') + {
  self_attention:: 'inside',
}
