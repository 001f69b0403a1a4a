// The same model with the recipe known to work best since: Adam, moving averages, early stopping.
(import 'bidaf_squad.jsonnet') + {
  optimizer:: { type: 'adam', lr: 0.002 },
  grad_norm:: 5.0,
  open_forget_gates:: false,
  num_epochs:: 20,
  patience:: 4,
}
