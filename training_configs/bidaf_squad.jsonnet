// "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al., ICLR 2017) on SQuAD, with the
// recipe of the paper. lib/bidaf.libsonnet has all choices with the paper's values; those that people
// change most are repeated here.
(import 'lib/bidaf.libsonnet') + {
  hidden_size:: 100,
  dropout:: 0.2,
  end_input:: 'authors_code',
  batch_size:: 60,
  num_epochs:: 12,
  // rho and epsilon are those of the authors' framework; torch's own defaults differ.
  optimizer:: { type: 'adadelta', lr: 0.5, rho: 0.95, eps: 1e-8 },
  moving_average_decay:: 0.999,
}
