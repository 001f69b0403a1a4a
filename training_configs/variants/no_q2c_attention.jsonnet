// Table 1b, "No Q2C attention" (paper: EM 63.6, F1 73.7).
(import '../bidaf_squad.jsonnet') + {
  query_to_context:: false,
}
