// Appendix B, Eq. 1: dot product (paper: EM 65.5, F1 75.5).
(import '../bidaf_squad.jsonnet') + {
  alpha:: 'dot',
}
