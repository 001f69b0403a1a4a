// Beyond the paper: the GloVe vectors of the words most frequent in questions are trained (Chen et al., 2017).
(import '../bidaf_squad.jsonnet') + {
  tuned_question_words:: 1000,
}
