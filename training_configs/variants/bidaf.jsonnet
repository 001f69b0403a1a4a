// Table 1b, "BiDAF (single)" (paper: EM 67.7, F1 77.3): nothing changed.
(import '../bidaf_squad.jsonnet')
