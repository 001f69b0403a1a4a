// BiDAF of allennlp-models with the settings of its authors' own experiment: the same network as ours
// (GloVe 100, 100 character filters of width 5, d = 100, two modelling layers, an end layer that reads
// [G; M; a; M * a], dropout 0.2), hence the same 2.6 million parameters. Two things are ours: a blank
// English tokenizer, because the spaCy model that it takes by default has to be downloaded; and Adam with
// one learning rate for both. `mask_lstms` keeps its default, true: without masks it would be faster, but
// would let padding into the answers.
local tiny = std.extVar('tiny') == 'true';
local glove = std.extVar('glove');

local word_dim = if tiny then 8 else 100;
local character_dim = 16;
local num_filters = if tiny then 8 else 100;
local filter_width = 5;
local hidden_size = if tiny then 8 else 100;
local dropout = 0.2;

local encoding_dim = 2 * hidden_size;
local bilstm(input_size, num_layers=1) = {
  type: 'lstm',
  bidirectional: true,
  input_size: input_size,
  hidden_size: hidden_size,
  num_layers: num_layers,
  [if num_layers > 1 then 'dropout']: dropout,
};
// Characters are bytes here: 256, then marks for padding, for the start and for the end of a word.
local num_bytes = 262;
local reader = {
  type: 'squad',
  tokenizer: { type: 'spacy', language: std.extVar('tokenizer') },
  token_indexers: {
    tokens: { type: 'single_id', lowercase_tokens: true },
    token_characters: {
      type: 'characters',
      character_tokenizer: { byte_encoding: 'utf-8', start_tokens: [259], end_tokens: [260] },
      min_padding_length: filter_width,
    },
  },
};
local batches = { batch_sampler: { type: 'bucket', batch_size: 60, sorting_keys: ['passage'] } };

{
  dataset_reader: reader,
  validation_dataset_reader: reader,
  train_data_path: std.extVar('train_data'),
  validation_data_path: std.extVar('dev_data'),
  vocabulary: {},
  model: {
    type: 'bidaf',
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'embedding',
          embedding_dim: word_dim,
          trainable: false,
          [if glove != '' then 'pretrained_file']: glove,
        },
        token_characters: {
          type: 'character_encoding',
          embedding: { num_embeddings: num_bytes, embedding_dim: character_dim },
          encoder: {
            type: 'cnn',
            embedding_dim: character_dim,
            num_filters: num_filters,
            ngram_filter_sizes: [filter_width],
          },
          dropout: dropout,
        },
      },
    },
    num_highway_layers: 2,
    phrase_layer: bilstm(word_dim + num_filters),
    matrix_attention: {
      type: 'linear',
      combination: 'x,y,x*y',
      tensor_1_dim: encoding_dim,
      tensor_2_dim: encoding_dim,
    },
    modeling_layer: bilstm(4 * encoding_dim, 2),
    span_end_encoder: bilstm(7 * encoding_dim),
    dropout: dropout,
  },
  data_loader: batches,
  validation_data_loader: batches,
  trainer: { optimizer: { type: 'adam', lr: 0.001 }, num_epochs: 1 },
}
