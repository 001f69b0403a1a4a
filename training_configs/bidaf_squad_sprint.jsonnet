// A short training, for the time to an F1 of 75 on SQuAD's dev set (`make bench-learning`): marks of the words
// that question and passage share, with which the model learns from the start what it otherwise finds out
// after half an epoch; mixed precision, a little less dropout, a learning rate that falls to a twentieth within
// three epochs, and answers of at most 16 words.
(import 'bidaf_squad_adam.jsonnet') + {
  exact_match:: true,
  whole_compounds:: false,
  mixed_precision:: true,
  dropout:: 0.15,
  max_answer_length:: 16,
  num_epochs:: 5,  // stretches of 876 steps, each with a score at its end
  patience:: $.num_epochs,
  data_loader+: { batches_per_epoch: 876 },
  trainer+: {
    learning_rate_scheduler: {
      type: 'polynomial_decay',
      warmup_steps: 200,
      end_learning_rate: $.optimizer.lr / 20,
    },
  },
}
