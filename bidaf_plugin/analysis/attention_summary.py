"""
Attention in short, for a page with many questions.
"""

from typing import List, NamedTuple, Tuple

from bidaf_plugin.analysis.attention import Attention

_THRESHOLD = 0.3
_MOST_WORDS = 5
# Of the strongest weight; what is weaker cannot be seen.
_FAINTEST = 0.05


class AttentionSummary(NamedTuple):
    """
    # Parameters

    passage : `List[Tuple[str, float]]`
        The passage in stretches, each with how much it matters to the question, from 0 to 1, which is
        the most. All are 0 if the model has no query-to-context attention.
    question_words : `List[Tuple[str, List[str]]]`
        The words of the question that passage words attend to, each with the first of them.
    """

    passage: List[Tuple[str, float]]
    question_words: List[Tuple[str, List[str]]]


def summarize_attention(attention: Attention) -> AttentionSummary:
    """What matters most of it."""
    strongest = [
        # A word that stands in several places is named once.
        list(dict.fromkeys(attention.passage_words[place] for place, _ in places))[:_MOST_WORDS]
        for places in attention.strongest(_THRESHOLD)
    ]
    words = zip(attention.question_words, strongest, strict=True)
    return AttentionSummary(
        _weigh_passage(attention), [(word, found) for word, found in words if found]
    )


def _weigh_passage(attention: Attention) -> List[Tuple[str, float]]:
    weights = attention.passage_weights
    if weights is None:
        return [(attention.passage, 0.0)]
    stretches: List[Tuple[str, float]] = []
    end = 0
    for (start, next_end), weight in zip(
        attention.passage_offsets, weights / weights.max(), strict=True
    ):
        if weight >= _FAINTEST:
            stretches += [(attention.passage[end:start], 0.0)] if start > end else []
            stretches.append((attention.passage[start:next_end], round(float(weight), 2)))
            end = next_end
    return [*stretches, (attention.passage[end:], 0.0)]
