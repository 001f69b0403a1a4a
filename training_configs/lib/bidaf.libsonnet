// The experiment of "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al., ICLR 2017),
// built from the choices at its top. Every size follows from them. A config file imports this object
// and overrides choices: `(import 'lib/bidaf.libsonnet') + { hidden_size:: 50 }`.
{
  // ---- Choices. The fields with two colons are not part of the experiment itself. ----

  // Data: paths or URLs, which AllenNLP downloads once and caches. `glove:: null` trains all vectors.
  train_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v1.1.json',
  dev_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v1.1.json',
  glove:: '(https://nlp.stanford.edu/data/glove.6B.zip)#glove.6B.100d.txt',
  // How often a word that is not in GloVe, or a character, must occur to get a vector of its own.
  min_word_count:: 11,
  min_character_count:: 51,
  // Limits on training questions, in tokens; evaluation knows none.
  max_question_length:: 30,
  max_passage_length:: 400,

  // Network.
  word_dim:: 100,
  character_dim:: 8,
  num_filters:: 100,
  filter_width:: 5,
  num_highway_layers:: 2,
  hidden_size:: 100,  // d
  num_modeling_layers:: 2,
  end_input:: 'authors_code',  // or 'paper_text'
  max_answer_length:: null,
  dropout:: 0.2,
  open_forget_gates:: true,  // start with forget biases of 1, as the authors' LSTM does
  lstm:: 'unpacked_lstm',  // or AllenNLP's 'lstm': the same values, about half as fast

  // Training.
  batch_size:: 60,
  num_epochs:: 12,
  patience:: $.num_epochs,  // epochs without a better F1 after which training stops
  optimizer:: error 'choose an optimizer',
  grad_norm:: null,  // gradients are rescaled to at most this norm
  moving_average_decay:: 0.999,
  seed:: 13370,

  // ---- What follows from them. ----

  local embedding_dim = $.num_filters + $.word_dim,
  local encoding_dim = 2 * $.hidden_size,  // 2d: h, u and m
  local query_aware_dim = 4 * encoding_dim,  // 8d: g
  local end_input_dim =
    if $.end_input == 'paper_text' then encoding_dim else query_aware_dim + 3 * encoding_dim,
  local bilstm(input_size, num_layers=1) =
    {
      type: $.lstm,
      input_size: input_size,
      hidden_size: $.hidden_size,
      num_layers: num_layers,
      [if num_layers > 1 then 'dropout']: $.dropout,
    } + (if $.lstm == 'lstm' then { bidirectional: true } else {}),
  local reader = {
    type: 'bidaf_squad',
    tokenizer: { type: 'ptb' },
    question_tokenizer: { type: 'ptb', split_compounds: false },
    token_indexers: {
      tokens: { type: 'single_id', lowercase_tokens: true },
      token_characters: { type: 'word_characters', max_word_length: 16 },
    },
  },
  local batches(shuffle) = {
    batch_sampler: {
      type: 'bucket',
      batch_size: $.batch_size,
      sorting_keys: ['passage'],
      shuffle: shuffle,
    },
  },

  random_seed: $.seed,
  numpy_seed: $.seed,
  pytorch_seed: $.seed,

  dataset_reader: reader {
    max_question_length: $.max_question_length,
    max_passage_length: $.max_passage_length,
  },
  validation_dataset_reader: reader,
  train_data_path: $.train_data,
  validation_data_path: $.dev_data,
  vocabulary: {
    min_count: { tokens: $.min_word_count, token_characters: $.min_character_count },
    // Every word of the data that GloVe has is kept, however rare.
    [if $.glove != null then 'pretrained_files']: { tokens: $.glove },
  },

  model: {
    type: 'attention_flow',
    text_field_embedder: {
      token_embedders: {
        token_characters: {
          type: 'character_encoding',
          embedding: { embedding_dim: $.character_dim, vocab_namespace: 'token_characters' },
          encoder: {
            type: 'character_cnn',
            embedding_dim: $.character_dim,
            num_filters: $.num_filters,
            filter_width: $.filter_width,
            dropout: $.dropout,
          },
        },
        tokens: {
          type: 'fixed_and_trained',
          embedding_dim: $.word_dim,
          [if $.glove != null then 'pretrained_file']: $.glove,
        },
      },
    },
    num_highway_layers: $.num_highway_layers,
    contextual_layer: bilstm(embedding_dim),
    attention: {
      similarity: {
        type: 'linear',
        combination: 'x,y,x*y',
        tensor_1_dim: encoding_dim,
        tensor_2_dim: encoding_dim,
      },
      fusion: { type: 'concat', encoding_dim: encoding_dim },
    },
    modeling_layer: bilstm(query_aware_dim, $.num_modeling_layers),
    output_layer: {
      type: 'span',
      query_aware_dim: query_aware_dim,
      modeled_dim: encoding_dim,
      end_encoder: bilstm(end_input_dim),
      end_input: $.end_input,
      max_answer_length: $.max_answer_length,
      dropout: $.dropout,
    },
    dropout: $.dropout,
    [if $.open_forget_gates then 'initializer']: {
      regexes: [
        ['.*bias_hh_l.*', { type: 'lstm_hidden_bias' }],
        ['.*bias_ih_l.*', { type: 'zero' }],
      ],
    },
  },

  data_loader: batches(shuffle=true),
  validation_data_loader: batches(shuffle=false),

  trainer: {
    num_epochs: $.num_epochs,
    patience: $.patience,
    validation_metric: '+f1',
    optimizer: $.optimizer,
    [if $.grad_norm != null then 'grad_norm']: $.grad_norm,
    moving_average: { type: 'exponential', decay: $.moving_average_decay },
  },
}
