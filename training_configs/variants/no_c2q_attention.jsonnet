// Table 1b, "No C2Q attention" (paper: EM 57.2, F1 67.7).
(import '../bidaf_squad.jsonnet') + {
  context_to_query:: false,
}
