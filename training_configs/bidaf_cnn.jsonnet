// The cloze test of CNN with "Bi-Directional Attention Flow for Machine Comprehension" (Seo et al.,
// ICLR 2017), with the recipe of the paper. lib/cloze.libsonnet and lib/bidaf.libsonnet have all choices;
// those that people change most are repeated here.
//
// The questions of Hermann et al. (2015) have no address that can be downloaded from directly. Get
// cnn.tgz from https://cs.nyu.edu/~kcho/DMQA/ and either name the folders in it, or pack each of them
// into one file, which is read faster than hundreds of thousands of small ones:
//
//     tar xzf cnn.tgz
//     for split in training validation test; do
//       allennlp bidaf pack-cloze cnn/questions/$split data/cnn-$split.packed
//     done
(import 'lib/cloze.libsonnet') + {
  train_data:: 'data/cnn-training.packed',
  dev_data:: 'data/cnn-validation.packed',
  window:: 19,
  hidden_size:: 100,
  dropout:: 0.2,
  batch_size:: 48,
  num_epochs:: 8,
  // rho and epsilon are those of the authors' framework; torch's own defaults differ.
  optimizer:: { type: 'adadelta', lr: 0.5, rho: 0.95, eps: 1e-8 },
  moving_average_decay:: 0.999,
  // Several GPUs (-1 for a process on the CPU) share the questions and `batch_size`; the paper has eight:
  // distributed: { cuda_devices: [0, 1, 2, 3, 4, 5, 6, 7] },
}
