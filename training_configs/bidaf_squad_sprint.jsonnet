// A short training, for the time to an F1 of 75 on SQuAD's dev set (`make bench-learning`): small batches, of
// which an epoch has more, and a learning rate that falls to a twentieth within three epochs. It has not reached
// the 75 yet, but 74.4 (results/runs/sprint).
(import 'bidaf_squad_adam.jsonnet') + {
  batch_size:: 30,
  num_epochs:: 6,  // halves of epochs, each with a score at its end
  patience:: $.num_epochs,
  data_loader+: { batches_per_epoch: 1460 },
  trainer+: {
    learning_rate_scheduler: {
      type: 'polynomial_decay',
      warmup_steps: 300,
      end_learning_rate: $.optimizer.lr / 20,
    },
  },
}
