// Appendix B, Eq. 1: bilinear (paper: EM 61.6, F1 71.8).
(import '../bidaf_squad.jsonnet') + {
  alpha:: 'bilinear',
}
