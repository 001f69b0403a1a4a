"""
What happens to texts before the network sees them, as JSON.
"""

from typing import Any, Dict, List

from allennlp.data import DatasetReader, Vocabulary

from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.data.tokenizers.treebank_rules import find_special_cases, load_spacy_tokenizer
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


def describe_rules() -> Dict[str, Any]:
    """The rules of spaCy's English tokenizer, for `ExportedRules`."""
    tokenizer = load_spacy_tokenizer()
    special_cases = find_special_cases(tokenizer)
    return {
        # Chunks have no blanks, and so none of the special cases with blanks.
        "special_cases": {
            case: pieces for case, pieces in special_cases.items() if case.split() == [case]
        },
        "prefix": tokenizer.prefix_search.__self__.pattern,
        "suffix": tokenizer.suffix_search.__self__.pattern,
        "infix": tokenizer.infix_finditer.__self__.pattern,
        "url": tokenizer.url_match.__self__.pattern,
    }


def describe_vocabulary(vocab: Vocabulary, namespaces: List[str]) -> Dict[str, List[str]]:
    """The words of each namespace in the order of their indices."""
    vocabulary = {}
    for namespace in namespaces:
        word_of_index = vocab.get_index_to_token_vocabulary(namespace)
        vocabulary[namespace] = [word_of_index[index] for index in range(len(word_of_index))]
    return vocabulary
