"""
From answers in characters to answers in tokens.
"""

from bisect import bisect_left, bisect_right
from typing import List, Optional, Sequence, Tuple

from allennlp.data import Token

from bidaf_plugin.dataset_readers.squad_json import Answer
from bidaf_plugin.fields.answer_spans_field import TokenSpan
from bidaf_plugin.tokenizers import TextTokens


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
