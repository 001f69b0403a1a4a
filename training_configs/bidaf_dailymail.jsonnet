// The cloze test of the Daily Mail: bidaf_cnn.jsonnet, which says where the files come from
// (dailymail.tgz), on the other data.
(import 'bidaf_cnn.jsonnet') + {
  train_data:: 'data/dailymail-training.packed',
  dev_data:: 'data/dailymail-validation.packed',
}
