// Table 1b, "No char embedding" (paper: EM 65.0, F1 75.4).
(import '../bidaf_squad.jsonnet') + {
  character_embedding:: false,
}
