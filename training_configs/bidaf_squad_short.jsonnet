// Four epochs, the recipe of results/squad: Adam, whose learning rate rises for 200 steps
// and then falls to a twentieth.
(import 'bidaf_squad_adam.jsonnet') + {
  num_epochs:: 4,
  patience:: $.num_epochs,
  trainer+: {
    // The number of steps is the trainer's: 4 epochs of 1,459 batches.
    learning_rate_scheduler: {
      type: 'polynomial_decay',
      warmup_steps: 200,
      end_learning_rate: $.optimizer.lr / 20,
    },
  },
}
