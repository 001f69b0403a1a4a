// Table 1b, "Dynamic attention" (paper: EM 63.5, F1 73.6).
(import '../bidaf_squad.jsonnet') + {
  attention:: 'dynamic',
}
