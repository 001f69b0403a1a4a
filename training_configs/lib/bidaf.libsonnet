// The experiment of "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al., ICLR 2017),
// built from the choices at its top. Every size follows from them. A config file imports this object
// and overrides choices: `(import 'lib/bidaf.libsonnet') + { hidden_size:: 50 }`.
local experiment = {
  // ---- Choices. The fields with two colons are not part of the experiment itself. ----

  // Data: paths or URLs, which AllenNLP downloads once and caches. `glove:: null` trains all vectors.
  train_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/train-v1.1.json',
  dev_data:: 'https://rajpurkar.github.io/SQuAD-explorer/dataset/dev-v1.1.json',
  glove:: '(https://nlp.stanford.edu/data/glove.6B.zip)#glove.6B.100d.txt',
  // How often a word that is not in GloVe, or a character, must occur in the training data to get a vector
  // of its own.
  min_word_count:: 11,
  min_character_count:: 51,
  // Limits on training questions, in tokens; evaluation knows none.
  max_question_length:: 30,
  max_passage_length:: 400,

  // The share of the training paragraphs that are made harder, by kind: `{ distractor: 0.2 }`.
  perturbations:: {},

  // As in the authors' code, "full-time" is one word of a question and three of a passage. Without it there are
  // three of either, which can be found in the other.
  whole_compounds:: true,

  // Network.
  word_dim:: 100,
  character_dim:: 8,
  num_filters:: 100,
  filter_width:: 5,
  character_embedding:: true,
  word_embedding:: true,
  exact_match:: false,  // whether the other text has a word: as it is, in lower case, without its ending
  tuned_question_words:: 0,  // so many words, those most frequent in questions, have GloVe vectors that are trained
  transformer:: null,  // a model of the hub, or a folder, that gives each word a vector, too
  transformer_dim:: 768,  // the size of these vectors
  transformer_layers:: 'last',  // or 'mix': a learned sum of all of its layers
  transformer_trained:: false,
  num_highway_layers:: 2,
  hidden_size:: 100,  // d
  attention:: 'static',  // or 'dynamic': inside the modelling layer
  alpha:: 'trilinear',  // similarity: 'dot', 'linear', 'bilinear', 'linear_after_mlp'
  beta:: 'concat',  // fusion: or 'mlp'
  context_to_query:: true,
  query_to_context:: true,
  num_hops:: 1,  // how often the passage attends to the question
  self_attention:: false,  // let the passage attend to itself before the modelling layer, or 'inside': after its first
  num_modeling_layers:: 2,
  projection:: false,  // from 2d to d after each BiLSTM
  end_input:: 'authors_code',  // or 'paper_text'
  max_answer_length:: null,
  no_answer:: false,  // whether a passage may not answer its question, as in SQuAD 2.0
  no_answer_summary:: false,  // whether the score of that depends on the question and its passage
  no_answer_weight:: 1.0,  // how much such a question counts in the loss
  dropout:: 0.2,
  variational_dropout:: false,  // on what LSTMs read: the same numbers of all words of a text
  open_forget_gates:: true,  // start with forget biases of 1, as the authors' LSTM does
  lstm:: 'unpacked_lstm',  // or AllenNLP's 'lstm': the same values, about half as fast

  // Training.
  batch_size:: 60,
  max_tokens_per_batch:: null,  // limits batches of long passages: questions times longest passage
  group_passages:: false,  // keep the questions on a paragraph in one batch
  // Evaluation is fastest on CPUs at about this many tokens per batch; GPUs like more.
  validation_batch_size:: 4 * $.batch_size,
  max_tokens_per_validation_batch:: 16000,
  num_epochs:: 12,
  patience:: $.num_epochs,  // epochs without a better F1 after which training stops
  optimizer:: error 'choose an optimizer',
  grad_norm:: null,  // gradients are rescaled to at most this norm
  mixed_precision:: false,  // large products of training in bfloat16 (GPU: AllenNLP's use_amp): much faster
  // In the first steps the averages follow faster: AllenNLP's decay after n steps is the smaller of this
  // and (1 + n) / (10 + n), which reaches 0.999 after 8,990. The paper and the authors' code have no such
  // beginning.
  moving_average_decay:: 0.999,
  seed:: 13370,

  // ---- What follows from them. ----

  local embedding_dim =
    (if $.character_embedding then $.num_filters else 0)
    + (if $.word_embedding then $.word_dim else 0)
    + (if $.exact_match then exact_match_dim else 0)
    + (if $.transformer != null then $.transformer_dim else 0),
  local exact_match_dim = 4,
  local encoding_dim = (if $.projection then 1 else 2) * $.hidden_size,  // 2d: h, u and m
  local query_aware_dim =  // 8d: g
    choose('attention', $.attention, {
      dynamic: encoding_dim,
      static: choose('beta', $.beta, {
        concat: (if $.query_to_context then 4 else 3) * encoding_dim,
        mlp: encoding_dim,
      }),
    }),
  local end_input_dim =
    if $.end_input == 'paper_text' then encoding_dim else query_aware_dim + 3 * encoding_dim,
  local choose(name, value, options) =
    if std.objectHas(options, value) then options[value]
    else error '%s is %s; it must be one of: %s' % [name, value, std.join(', ', std.objectFields(options))],
  local encoding_dims = { tensor_1_dim: encoding_dim, tensor_2_dim: encoding_dim },
  local similarity = choose('alpha', $.alpha, {
    trilinear: { type: 'linear', combination: 'x,y,x*y' } + encoding_dims,  // w [h; u; h * u]
    linear: { type: 'linear', combination: 'x,y' } + encoding_dims,  // w [h; u]
    dot: { type: 'dot_product' },  // h u
    bilinear: { type: 'bilinear', matrix_1_dim: encoding_dim, matrix_2_dim: encoding_dim },  // h W u
    linear_after_mlp: { type: 'linear_after_mlp' } + encoding_dims,  // w tanh(W [h; u] + b)
  }),
  local fusion = {
    type: $.beta,
    encoding_dim: encoding_dim,
    query_to_context: $.query_to_context,
  },
  local transformer = {
    type: 'pretrained_transformer_mismatched',
    model_name: $.transformer,
    max_length: 512,  // word pieces that it reads at a time
  },
  local bilstm(input_size, num_layers=1) =
    {
      type: $.lstm,
      input_size: input_size,
      hidden_size: $.hidden_size,
      num_layers: num_layers,
      [if num_layers > 1 then 'dropout']: $.dropout,
      [if $.variational_dropout then 'variational_dropout']: true,
      [if $.projection then 'projection_dim']: $.hidden_size,
    } + (if $.lstm == 'lstm' then { bidirectional: true } else {}),
  local self_attention_hop(dim, dropout) = {
    type: 'self_attention_hop',
    input_dim: dim,
    hidden_dim: encoding_dim,
    [if dropout > 0 then 'dropout']: dropout,
  },
  local reader = {
    type: 'bidaf_squad',
    tokenizer: { type: 'ptb' },
    question_tokenizer: { type: 'ptb' } + (
      if $.whole_compounds then { split_compounds: false, whole_compounds: true } else {}
    ),
    token_indexers: {
      [if $.exact_match then 'exact_match']: { type: 'word_forms' },
      [if $.word_embedding then 'tokens']: { type: 'word_id', lowercase_tokens: true },
      [if $.transformer != null then 'transformer']: transformer,
      [if $.character_embedding then 'token_characters']:
        { type: 'word_characters', max_word_length: 16 },
    },
  },
  local batches(batch_size, max_tokens, group_passages, shuffle) = {
    batch_sampler: {
      type: 'bidaf_bucket',
      batch_size: batch_size,
      max_tokens: max_tokens,
      group_passages: group_passages,
      shuffle: shuffle,
    },
  },

  random_seed: $.seed,
  numpy_seed: $.seed,
  pytorch_seed: $.seed,

  dataset_reader: reader {
    max_question_length: $.max_question_length,
    max_passage_length: $.max_passage_length,
    [if $.tuned_question_words > 0 then 'count_question_words']: true,
    [if $.perturbations != {} then 'perturbations']: $.perturbations,
  },
  validation_dataset_reader: reader,
  train_data_path: $.train_data,
  validation_data_path: $.dev_data,
  // The words of the dev data must not be counted: a vector would be made for them that nothing trains.
  datasets_for_vocab_creation: ['train'],
  vocabulary: {
    min_count: {
      [if $.word_embedding then 'tokens']: $.min_word_count,
      [if $.character_embedding then 'token_characters']: $.min_character_count,
    },
    [if $.tuned_question_words > 0 then 'max_vocab_size']: {
      question_tokens: $.tuned_question_words,
    },
    // All words of GloVe, so that those which only other data has get their vectors too.
    [if $.word_embedding && $.glove != null then 'pretrained_files']: { tokens: $.glove },
    [if $.word_embedding && $.glove != null then 'min_pretrained_embeddings']: { tokens: -1 },
  },

  model: {
    type: 'attention_flow',
    text_field_embedder: {
      token_embedders: {
        // No word, no match, or one of seven kinds of matches.
        [if $.exact_match then 'exact_match']:
          { type: 'embedding', num_embeddings: 9, embedding_dim: exact_match_dim, padding_index: 0 },
        [if $.character_embedding then 'token_characters']: {
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
        [if $.transformer != null then 'transformer']: {
          type: 'each_text_once',
          embedder: transformer {
            train_parameters: $.transformer_trained,
            last_layer_only: choose('transformer_layers', $.transformer_layers, { last: true, mix: false }),
          },
        },
        [if $.word_embedding then 'tokens']: {
          type: 'fixed_and_trained',
          embedding_dim: $.word_dim,
          [if $.glove != null then 'pretrained_file']: $.glove,
          [if $.tuned_question_words > 0 then 'tuned_namespace']: 'question_tokens',
        },
      },
    },
    num_highway_layers: $.num_highway_layers,
    contextual_layer: bilstm(embedding_dim),
    [if $.attention == 'static' then 'attention']: {
      similarity: similarity,
      fusion: fusion,
      context_to_query: $.context_to_query,
      num_hops: $.num_hops,
    },
    modeling_layer:
      if $.attention == 'dynamic' then
        {
          type: 'dynamic_attention',
          input_size: encoding_dim,
          hidden_size: $.hidden_size,
          num_layers: $.num_modeling_layers,
          dropout: $.dropout,
        }
      else if $.self_attention == false then
        bilstm(query_aware_dim, $.num_modeling_layers)
      else {
        type: 'compose',
        encoders:
          if $.self_attention == 'inside' then [
            bilstm(query_aware_dim),
            self_attention_hop(encoding_dim, $.dropout),
            bilstm(encoding_dim, $.num_modeling_layers - 1),
          ] else [
            self_attention_hop(query_aware_dim, dropout=0),
            bilstm(query_aware_dim, $.num_modeling_layers),
          ],
      },
    output_layer: {
      type: 'span',
      query_aware_dim: query_aware_dim,
      modeled_dim: encoding_dim,
      end_encoder: bilstm(end_input_dim),
      end_input: $.end_input,
      max_answer_length: $.max_answer_length,
      [if $.no_answer then 'no_answer']: true,
      [if $.no_answer_summary then 'no_answer_summary']: true,
      [if $.no_answer_weight != 1 then 'no_answer_weight']: $.no_answer_weight,
      dropout: $.dropout,
    },
    dropout: $.dropout,
    [if $.open_forget_gates then 'initializer']: {
      regexes: [
        ['.*bias_hh.*', { type: 'lstm_hidden_bias' }],
        ['.*bias_ih.*', { type: 'zero' }],
      ],
    },
  },

  data_loader: batches($.batch_size, $.max_tokens_per_batch, $.group_passages, shuffle=true),
  validation_data_loader: batches(
    $.validation_batch_size, $.max_tokens_per_validation_batch, group_passages=true, shuffle=false
  ),

  trainer: {
    num_epochs: $.num_epochs,
    patience: $.patience,
    validation_metric: '+f1',
    optimizer: $.optimizer,
    [if $.grad_norm != null then 'grad_norm']: $.grad_norm,
    [if $.mixed_precision then 'use_amp']: true,
    moving_average: { type: 'exponential', decay: $.moving_average_decay },
  },

  evaluation: { type: 'bidaf_questions' },
};

// A choice that is misspelt, or that others leave without effect, is an error.
experiment + {
  known_choices:: std.objectFieldsAll(experiment) + ['known_choices', 'idle_choices', 'errors'],
  // The choices without effect, each with the reason. They must keep their defaults.
  idle_choices::
    {
      [name]: 'character_embedding is false'
      for name in ['min_character_count', 'character_dim', 'num_filters', 'filter_width']
      if !$.character_embedding
    } + {
      [name]: 'word_embedding is false'
      for name in ['glove', 'min_word_count', 'word_dim', 'tuned_question_words']
      if !$.word_embedding
    } + {
      [name]: 'glove is null, so that all vectors are trained'
      for name in ['tuned_question_words']
      if $.word_embedding && $.glove == null
    } + {
      [name]: 'transformer is null'
      for name in ['transformer_dim', 'transformer_layers', 'transformer_trained']
      if $.transformer == null
    } + {
      [name]: 'no_answer is false'
      for name in ['no_answer_summary', 'no_answer_weight']
      if !$.no_answer
    } + {
      [name]: "lstm is not 'unpacked_lstm'"
      for name in ['projection', 'variational_dropout']
      if $.lstm != 'unpacked_lstm'
    } + {
      [name]: "attention is 'dynamic', so that there is no attention layer"
      for name in
        [
          'alpha', 'beta', 'context_to_query', 'query_to_context', 'num_hops', 'self_attention',
          'projection',
        ]
      if $.attention == 'dynamic'
    },
  local known = std.set($.known_choices),
  local idle = $.idle_choices,
  local is_choice(name) = !std.objectHas($, name),
  local unknown = std.filter(is_choice, std.setDiff(std.objectFieldsAll($), known)),
  local defaults = experiment { batch_size:: $.batch_size },
  errors::
    [
      'there is no choice %s; known are: %s' % [
        name,
        std.join(', ', std.filter(is_choice, std.setDiff(known, std.objectFields(idle)))),
      ]
      for name in unknown
    ] + [
      '%s must keep its default (%s): %s' % [name, defaults[name], idle[name]]
      for name in std.objectFields(idle)
      if $[name] != defaults[name]
    ] + [
      'character_embedding and word_embedding are both false: the model would see no words'
      for _ in [0]
      if !$.character_embedding && !$.word_embedding && $.transformer == null
    ] + [
      "self_attention is %s; it must be one of: false, true, 'inside'" % [$.self_attention]
      for _ in [0]
      if !std.member([false, true, 'inside'], $.self_attention)
    ] + [
      "self_attention 'inside' needs 2 or more num_modeling_layers, not %s" % [$.num_modeling_layers]
      for _ in [0]
      if $.self_attention == 'inside' && $.num_modeling_layers < 2
    ],
  // In a field that configs leave as it is, and not in an `assert`, which jsonnet evaluates again with every
  // access to the object: that would take seconds.
  local errors = $.errors,
  evaluation: if std.length(errors) == 0 then super.evaluation else error std.join('; ', errors),
}
