// Beyond the paper: dropout of the same numbers of all words of a text (Gal & Ghahramani, 2016).
(import '../bidaf_squad.jsonnet') + {
  variational_dropout:: true,
}
