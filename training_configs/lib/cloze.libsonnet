// The experiment of the paper's second half, the cloze test of CNN and Daily Mail: that of bidaf.libsonnet
// with another reader and another output layer. A config file imports this object and overrides choices.
(import 'bidaf.libsonnet') + {
  // ---- Choices. ----

  window:: 19,  // words around each mention of an entity; null for whole articles
  num_entities:: 600,  // names for entities: at least as many as a question has
  // Of a batch of one process, so that it fits into memory: 3 GB. 48 questions of the Daily Mail have about
  // 2,800.
  max_windows:: 4000,
  max_words:: null,  // of a batch, padded: for whole articles
  max_instances_in_memory:: 4096,
  // Leave out, and count, single training questions that cannot be used: most have an answer that is not in
  // the article. A truncated or damaged archive is an error all the same.
  skip_bad:: true,

  // Of all processes together, if there is `distributed` in the config file. With `-o`, which changes what
  // this file has become, each process has as many.
  batch_size:: 48,
  num_epochs:: 8,
  patience:: 1,  // "early stop when the accuracy on validation data starts to drop"

  // ---- What follows from them. ----

  known_choices+:: [
    'window', 'num_entities', 'max_windows', 'max_words', 'max_instances_in_memory', 'skip_bad',
  ],
  idle_choices+:: {
    [name]: 'this is a cloze experiment'
    for name in [
      'max_question_length', 'max_passage_length', 'whole_compounds', 'exact_match', 'end_input',
      'max_answer_length', 'no_answer', 'no_answer_summary', 'no_answer_weight', 'tuned_question_words', 'transformer', 'perturbations',
      'max_tokens_per_batch', 'group_passages', 'validation_batch_size', 'max_tokens_per_validation_batch',
    ]
  },
  local reader = {
    type: 'bidaf_cloze',
    window: $.window,
    token_indexers: {
      [if $.word_embedding then 'tokens']: { type: 'cloze_words', num_entities: $.num_entities },
      [if $.character_embedding then 'token_characters']:
        { type: 'word_characters', max_word_length: 16 },
    },
  },
  local num_processes =
    if std.objectHas($, 'distributed') then
      std.length($.distributed.cuda_devices) * std.get($.distributed, 'num_nodes', 1)
    else 1,
  local batches(shuffle) = {
    batch_sampler: {
      type: 'window_budget',
      batch_size: std.max(1, std.floor($.batch_size / num_processes)),
      max_windows: $.max_windows,
      max_words: $.max_words,
      shuffle: shuffle,
    },
    max_instances_in_memory: $.max_instances_in_memory,
  },

  dataset_reader: reader { skip_bad: $.skip_bad },
  // The score is over all questions, and does not change from one evaluation to the next.
  validation_dataset_reader: reader { keep_unanswerable: true, seed: 0 },

  model+: {
    local span_output_layer = super.output_layer,
    output_layer: {
      type: 'cloze',
      query_aware_dim: span_output_layer.query_aware_dim,
      modeled_dim: span_output_layer.modeled_dim,
      dropout: $.dropout,
    },
  },

  data_loader: batches(shuffle=true),
  validation_data_loader: batches(shuffle=false),

  trainer+: { validation_metric: '+accuracy' },
}
