// A few minutes on the invented sample in fixtures/: small sizes, no downloads. For trying things out.
(import 'bidaf_squad.jsonnet') + {
  train_data:: 'fixtures/squad/sample_train.json',
  dev_data:: 'fixtures/squad/sample_dev.json',
  glove:: null,
  min_word_count:: 3,
  min_character_count:: 1,
  word_dim:: 50,
  num_filters:: 50,
  hidden_size:: 40,
  optimizer:: { type: 'adam', lr: 0.003 },
  batch_size:: 30,
  num_epochs:: 9,
  moving_average_decay:: 0.99,
}
