// The recipe of pretrained/bidaf-squad.tar.gz, the best single model: the paper's network and seven epochs of
// Adam, whose learning rate rises for 200 steps and then falls to a twentieth, in mixed precision. Answers have at
// most 16 words.
(import 'bidaf_squad.jsonnet') + (import 'lib/recipe.libsonnet') + {
  num_epochs:: 7,
  max_answer_length:: 16,
}
