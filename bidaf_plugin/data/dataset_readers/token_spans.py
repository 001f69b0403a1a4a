"""
From answers in characters to answers in tokens.
"""

from bisect import bisect_left, bisect_right
from typing import List, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.data import Token

from bidaf_plugin.data.dataset_readers.squad_json import Answer
from bidaf_plugin.data.fields.answer_spans_field import TokenSpan
from bidaf_plugin.data.tokenizers import TextTokens


def with_offsets(tokens: Sequence[Token], text: str) -> Sequence[Token]:
    """Tokens that know where they stand in their text, which not every tokenizer says."""
    if isinstance(tokens, TextTokens) or all(token.idx_end is not None for token in tokens):
        return tokens
    end = 0
    for token in tokens:
        word = token.ensure_text()
        start = text.find(word, end) if token.idx is None else token.idx
        end = start + len(word)
        if text[max(start, 0) : end] != word:
            raise ConfigurationError(
                f"the tokenizer made {word!r} of {text!r:.80}, where it is not to be found: answers can "
                "only be cut from a text whose words are left as they are"
            )
        token.idx, token.idx_end = start, end
    return tokens


def character_offsets(tokens: Sequence[Token]) -> Tuple[List[int], List[int]]:
    """The first character of each token, and one past its last."""
    if isinstance(tokens, TextTokens):
        return tokens.starts.tolist(), tokens.ends.tolist()
    return [token.idx for token in tokens], [token.idx_end for token in tokens]


def find_token_span(starts: List[int], ends: List[int], answer: Answer) -> Optional[TokenSpan]:
    """
    The first and the last (inclusive) of the tokens, given by their offsets, that overlap the
    characters of `answer`; None if there are none, or if the answer reaches beyond the last token.
    """
    answer_end = answer.start + len(answer.text.rstrip())
    first = bisect_right(ends, answer.start)
    last = bisect_left(starts, answer_end) - 1
    if first > last or ends[-1] < answer_end:
        return None
    return first, last
