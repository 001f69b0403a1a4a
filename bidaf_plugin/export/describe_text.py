"""
What happens to texts before the network sees them, and to its logits afterwards, as JSON.
"""

from typing import Any, Dict, List

from allennlp.data import DatasetReader, TokenIndexer, Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.data.tokenizers.treebank_rules import load_rules
from bidaf_plugin.export.plain_network import check_type
from bidaf_plugin.predictors import SpanPredictor

# The names of the vocabularies for the kinds of indices.
_VOCABULARIES = {"words": "tokens", "characters": "token_characters"}


def describe_settings(predictor: SpanPredictor, kind_of_indexer: Dict[str, str]) -> Dict[str, Any]:
    """
    # Parameters

    predictor : `SpanPredictor`
    kind_of_indexer : `Dict[str, str]`
        See `PlainNetwork`.
    """
    reader, layer = predictor._dataset_reader, predictor._model._output_layer
    indexers = {kind: reader._token_indexers[key] for key, kind in kind_of_indexer.items()}
    words, characters = indexers.get("words"), indexers.get("characters")
    if isinstance(words, SingleIdTokenIndexer):
        _check_is_plain(words)
        is_lower = words.lowercase_tokens
    else:
        is_lower = words is not None and words._lowercase_tokens
    return {
        **_describe_tokenizers(reader),
        "tokenizer_rules": load_rules(),
        "lowercase": is_lower,
        "max_word_length": 0 if characters is None else characters._max_word_length,
        "exact_match": "matches" in indexers,
        "pieces": predictor.piece_settings()._asdict(),
        "temperature": layer.temperature,
        "max_answer_length": layer.decoder.max_answer_length,
        "no_answer": layer.no_answer,
        "no_answer_threshold": layer.decoder.no_answer_threshold,
    }


def _check_is_plain(indexer: SingleIdTokenIndexer) -> None:
    """AllenNLP's indexer of words can do more than ours."""
    if (
        indexer.namespace is None
        or indexer._feature_name != "text"
        or indexer._start_tokens
        or indexer._end_tokens
    ):
        raise DataError(
            "a token indexer has no 'namespace', another feature than 'text', 'start_tokens' or "
            "'end_tokens', which cannot be exported"
        )


def _describe_tokenizers(reader: DatasetReader) -> Dict[str, Any]:
    tokenizers = {
        "question_tokenizer": reader._question_tokenizer,
        "passage_tokenizer": reader._tokenizer,
    }
    for name, tokenizer in tokenizers.items():
        check_type(tokenizer, (PtbTokenizer,), name)
    return {
        name: {
            "split_compounds": tokenizer._split_compounds,
            "whole_compounds": tokenizer._whole_compounds,
        }
        for name, tokenizer in tokenizers.items()
    }


def describe_vocabulary(
    vocab: Vocabulary, indexers: Dict[str, TokenIndexer], kind_of_indexer: Dict[str, str]
) -> Dict[str, List[str]]:
    """The words and the characters, each in the order of their indices."""
    vocabulary = {}
    for key, kind in kind_of_indexer.items():
        if kind in _VOCABULARIES:
            indexer = indexers[key]
            own_name = getattr(indexer, "namespace", None) or indexer._namespace
            word_of_index = vocab.get_index_to_token_vocabulary(own_name)
            words = [word_of_index[index] for index in range(len(word_of_index))]
            if words[:2] != [vocab._padding_token, vocab._oov_token]:
                raise DataError(
                    f"the vocabulary {own_name!r} does not begin with padding and unknown"
                )
            vocabulary[_VOCABULARIES[kind]] = words
    return vocabulary
