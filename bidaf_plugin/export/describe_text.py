"""
What happens to texts before the network sees them, as JSON.
"""

from typing import Any, Dict, List

from allennlp.data import DatasetReader, Vocabulary

from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.export.description import check_type


def describe_tokenizers(reader: DatasetReader) -> Dict[str, Any]:
    """The settings of the tokenizers for questions and for passages."""
    check_type(reader, (BidafSquadReader,), "the dataset reader")
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


def describe_vocabulary(vocab: Vocabulary, namespaces: List[str]) -> Dict[str, List[str]]:
    """The words of each namespace in the order of their indices."""
    vocabulary = {}
    for namespace in namespaces:
        word_of_index = vocab.get_index_to_token_vocabulary(namespace)
        vocabulary[namespace] = [word_of_index[index] for index in range(len(word_of_index))]
    return vocabulary
