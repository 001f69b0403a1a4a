from allennlp.models import Model
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile

from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder


def learn_words(model: Model, pretrained_file: str) -> None:
    """Extends the vocabulary and the word embedder by the words of a file of word vectors."""
    with EmbeddingsTextFile(pretrained_file) as file:
        words = [line.partition(" ")[0] for line in file]
    for module in model.modules():
        if isinstance(module, FixedAndTrainedEmbedder):
            model.vocab.add_tokens_to_namespace(words, module.vocab_namespace)
            module.extend_vocab(model.vocab, extension_pretrained_file=pretrained_file)
