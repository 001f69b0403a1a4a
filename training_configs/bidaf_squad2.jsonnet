// SQuAD 2.0 ("Know What You Don't Know", Rajpurkar et al., ACL 2018), in which a passage may not answer
// its question: the same model with one more outcome of both softmaxes (Levy et al., CoNLL 2017).
(import 'bidaf_squad_adam.jsonnet') + {
  train_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v2.0.json',
  dev_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v2.0.json',
  no_answer:: true,
}
