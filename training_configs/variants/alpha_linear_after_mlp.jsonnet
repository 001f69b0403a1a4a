// Appendix B, Eq. 1: linear after MLP (paper: EM 66.2, F1 76.4).
(import '../bidaf_squad.jsonnet') + {
  alpha:: 'linear_after_mlp',
}
