// A few minutes on the invented cloze questions in fixtures/: small sizes, no downloads.
(import 'bidaf_cnn.jsonnet') + {
  train_data:: 'fixtures/cloze/sample.tar.gz!sample/questions/training',
  dev_data:: 'fixtures/cloze/sample.tar.gz!sample/questions/validation',
  glove:: null,
  min_word_count:: 2,
  min_character_count:: 1,
  num_entities:: 20,
  word_dim:: 30,
  num_filters:: 20,
  hidden_size:: 30,
  optimizer:: { type: 'adam', lr: 0.005 },
  grad_norm:: 5.0,
  batch_size:: 20,
  num_epochs:: 16,
  patience:: 4,
  moving_average_decay:: 0.95,
}
