// The project's experiment as it is, with what both systems share: data, word vectors and Adam.
local tiny = std.extVar('tiny') == 'true';
local glove = std.extVar('glove');

(import '../../training_configs/bidaf_squad.jsonnet') + {
  train_data:: std.extVar('train_data'),
  dev_data:: std.extVar('dev_data'),
  glove:: if glove == '' then null else glove,
  optimizer:: { type: 'adam', lr: 0.001 },
} + (
  if tiny then
    { word_dim:: 8, num_filters:: 8, hidden_size:: 8, min_word_count:: 1, min_character_count:: 1 }
  else {}
)
