"""
Token indexers and token embedders, which belong together, in the terms of `standalone.embedders`.
"""

from typing import Dict, List

import torch
from allennlp.data import TokenIndexer, Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.modules import TextFieldEmbedder
from allennlp.modules.text_field_embedders import BasicTextFieldEmbedder
from allennlp.modules.token_embedders import Embedding, TokenCharactersEncoder, TokenEmbedder

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.token_indexers import WordCharactersIndexer, WordIdIndexer, WordIndexer
from bidaf_plugin.export.description import Description, check_type, refuse, with_prefix
from bidaf_plugin.modules.seq2vec_encoders import CharacterCnnEncoder
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder


def describe_embedders(
    text_field_embedder: TextFieldEmbedder, indexers: Dict[str, TokenIndexer], vocab: Vocabulary
) -> List[Description]:
    """Each embedder with its indexer, in the order of their vectors."""
    check_type(text_field_embedder, (BasicTextFieldEmbedder,), "text_field_embedder")
    descriptions = []
    for key in text_field_embedder._ordered_embedder_keys:
        embedder = getattr(text_field_embedder, f"token_embedder_{key}")
        place = f"token_embedders.{key}"
        if key not in indexers:
            raise DataError(f"{place} has no token indexer of this name")
        describe = (
            _describe_characters
            if isinstance(embedder, TokenCharactersEncoder)
            else _describe_words
        )
        descriptions.append(describe(embedder, indexers[key], vocab, key))
    return descriptions


def _describe_words(
    embedder: TokenEmbedder, indexer: TokenIndexer, vocab: Vocabulary, key: str
) -> Description:
    place = f"token_indexers.{key}"
    check_type(embedder, (FixedAndTrainedEmbedder, Embedding), f"token_embedders.{key}")
    check_type(indexer, (WordIdIndexer, SingleIdTokenIndexer), place)
    if isinstance(indexer, SingleIdTokenIndexer):
        indexer = _to_word_id(indexer, place)
    settings = {
        "type": "words",
        "lowercase": indexer._lowercase_tokens,
        **_describe_namespace(indexer, vocab),
    }
    return Description(settings, {"vectors": _table(embedder, indexer, vocab)})


def _to_word_id(indexer: SingleIdTokenIndexer, place: str) -> WordIdIndexer:
    """AllenNLP's indexer of words, unless it does more than ours."""
    if indexer.namespace is None or indexer._feature_name != "text":
        refuse(place, "another feature than words")
    if indexer._start_tokens or indexer._end_tokens:
        refuse(place, "'start_tokens' or 'end_tokens'")
    return WordIdIndexer(indexer.namespace, indexer.lowercase_tokens)


def _describe_characters(
    embedder: TokenCharactersEncoder, indexer: TokenIndexer, vocab: Vocabulary, key: str
) -> Description:
    place = f"token_embedders.{key}"
    check_type(indexer, (WordCharactersIndexer,), f"token_indexers.{key}")
    check_type(embedder, (TokenCharactersEncoder,), place)
    encoder = embedder._encoder._module
    check_type(encoder, (CharacterCnnEncoder,), f"{place}.encoder")
    check_type(embedder._embedding._module, (Embedding,), f"{place}.embedding")
    settings = {
        "type": "characters",
        "max_word_length": indexer._max_word_length,
        **_describe_namespace(indexer, vocab),
    }
    convolution = with_prefix("convolution", encoder._convolution.state_dict())
    vectors = _table(embedder._embedding._module, indexer, vocab)
    return Description(settings, {"vectors": vectors, **convolution})


def _describe_namespace(indexer: WordIndexer, vocab: Vocabulary) -> Dict[str, object]:
    return {
        "namespace": indexer._namespace,
        "unknown_index": vocab.get_token_index(vocab._oov_token, indexer._namespace),
    }


def _table(embedder: TokenEmbedder, indexer: WordIndexer, vocab: Vocabulary) -> torch.Tensor:
    """The vectors of the whole vocabulary. Shape: (vocabulary_size, dim)"""
    # Shape: (1, vocabulary_size)
    indices = torch.arange(vocab.get_vocab_size(indexer._namespace)).unsqueeze(0)
    with torch.no_grad():
        return embedder(indices).squeeze(0)
