// bidaf_plus.jsonnet with the vectors of a small transformer in the place of GloVe and characters: what BiDAF with
// ELMo was. Any model of the hub will do, beside them or alone, frozen or trained. The questions on a paragraph
// are in one batch, so that a frozen transformer reads it once.
(import 'bidaf_plus.jsonnet') + {
  transformer:: 'sentence-transformers/all-MiniLM-L6-v2',
  transformer_dim:: 384,
  transformer_layers:: 'mix',
  character_embedding:: false,
  word_embedding:: false,
  tuned_question_words:: 0,
  num_highway_layers:: 0,
  group_passages:: true,
  num_epochs:: 4,
}
