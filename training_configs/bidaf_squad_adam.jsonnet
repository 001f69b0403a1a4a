// The same model with the recipe known to work best since: Adam, moving averages, early stopping.
(import 'bidaf_squad.jsonnet') + {
  optimizer:: { type: 'adam', lr: 0.001 },
  num_epochs:: 20,
  patience:: 4,
}
