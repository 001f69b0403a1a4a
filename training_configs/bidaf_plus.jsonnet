// Beyond the paper, without a pre-trained language model: marks of shared words, tuned
// vectors of question words, projections (which pay for the rest), a passage that attends to itself, the same
// dropout for all words of a text, mixed precision, and a learning rate that falls within seven epochs.
(import 'bidaf_squad_adam.jsonnet') + (import 'lib/recipe.libsonnet') + {
  exact_match:: true,
  whole_compounds:: false,
  tuned_question_words:: 1000,
  projection:: true,
  self_attention:: 'inside',
  variational_dropout:: true,
  dropout:: 0.2,
  max_answer_length:: 16,
  num_epochs:: 7,
}
