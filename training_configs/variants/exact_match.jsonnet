// Beyond the paper: marks of the words that question and passage share (Chen et al., 2017).
(import '../bidaf_squad.jsonnet') + {
  exact_match:: true,
}
