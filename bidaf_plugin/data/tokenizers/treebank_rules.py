from functools import lru_cache
from typing import Any, Dict

from bidaf_plugin.runtime.treebank_rules import TreebankRules


def load_rules() -> Dict[str, Any]:
    """The tables of spaCy's English rule tokenizer, as `TreebankRules` takes them. No model is downloaded."""
    import spacy
    from spacy.symbols import ORTH

    tokenizer: Any = spacy.blank("en").tokenizer
    return {
        # "don't", "Mr.", ":)"; chunks have no blanks, and so none of the special cases with blanks.
        "special_cases": {
            case: [piece[ORTH] for piece in pieces]
            for case, pieces in tokenizer.rules.items()
            if case.split() == [case]
        },
        "prefix": tokenizer.prefix_search.__self__.pattern,
        "suffix": tokenizer.suffix_search.__self__.pattern,
        "infix": tokenizer.infix_finditer.__self__.pattern,
        "url": tokenizer.url_match.__self__.pattern,
    }


@lru_cache(maxsize=1)
def load_treebank_rules() -> TreebankRules:
    """The rules themselves, which all tokenizers of a process share."""
    return TreebankRules(load_rules())
