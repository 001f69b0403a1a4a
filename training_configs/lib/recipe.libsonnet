// The recipe of the runs in results/runs, to be added to the paper's model or to one of its variants:
// `allennlp bidaf reproduce --config training_configs/variants/alpha_dot.jsonnet --recipe training_configs/lib/recipe.libsonnet`.
// Adam, whose learning rate rises for 200 steps and then falls to a twentieth, within three epochs.
{
  optimizer:: { type: 'adam', lr: 0.002 },
  grad_norm:: 5.0,
  open_forget_gates:: false,
  mixed_precision:: true,
  num_epochs:: 3,
  patience:: $.num_epochs,
  trainer+: {
    learning_rate_scheduler: {
      type: 'polynomial_decay',
      warmup_steps: 200,
      end_learning_rate: $.optimizer.lr / 20,
    },
  },
}
