// bidaf_plus.jsonnet for SQuAD 2.0, in which a passage may not answer its question. The score for no answer
// depends on the question and its passage.
(import 'bidaf_plus.jsonnet') + {
  train_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v2.0.json',
  dev_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v2.0.json',
  no_answer:: true,
  no_answer_summary:: true,
  num_epochs:: 5,
}
