// Four epochs, the recipe of pretrained/bidaf-squad.tar.gz: Adam, whose learning rate rises for 200 steps
// and then falls to a twentieth.
(import 'bidaf_squad_adam.jsonnet') + {
  num_epochs:: 4,
  patience:: 4,
  trainer+: {
    learning_rate_scheduler: {
      type: 'polynomial_decay',
      num_epochs: $.num_epochs,
      num_steps_per_epoch: 1459,  // of 60 questions
      warmup_steps: 200,
      end_learning_rate: 1e-4,
    },
  },
}
