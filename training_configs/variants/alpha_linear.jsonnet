// Appendix B, Eq. 1: linear (paper: EM 59.5, F1 69.7).
(import '../bidaf_squad.jsonnet') + {
  alpha:: 'linear',
}
