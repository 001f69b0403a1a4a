// Appendix B, Eq. 2: MLP after concat (paper: EM 67.1, F1 77.0).
(import '../bidaf_squad.jsonnet') + {
  beta:: 'mlp',
}
