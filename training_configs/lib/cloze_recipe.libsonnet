// A recipe for cloze data that is small beside CNN and the Daily Mail (results/cloze), to be added to cloze.libsonnet:
// `(import 'lib/cloze.libsonnet') + (import 'lib/cloze_recipe.libsonnet') + { train_data:: ..., dev_data:: ... }`.
// Adam. Some seeds begin to learn an epoch or two later than others. With a learning rate that falls by the calendar they
// would be left with too small a one, so it falls whenever the accuracy has not risen, and only then.
{
  batch_size:: 32,
  num_epochs:: 16,
  patience:: 3,
  optimizer:: { type: 'adam', lr: 0.002 },
  grad_norm:: 5.0,
  open_forget_gates:: false,
  mixed_precision:: true,
  trainer+: {
    learning_rate_scheduler: {
      type: 'reduce_on_plateau',
      mode: 'max',
      factor: 0.3,
      patience: 0,
      min_lr: $.optimizer.lr / 20,
    },
  },
}
