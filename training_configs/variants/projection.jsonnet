// Beyond the paper: projections from 2d to d after the BiLSTMs (Weissenborn et al., 2017), which cost less.
(import '../bidaf_squad.jsonnet') + {
  projection:: true,
}
