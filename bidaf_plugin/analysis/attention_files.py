"""
The files that show what a model attends to.
"""

import json
import os
import re
from typing import Iterator, List, Tuple

from bidaf_plugin.analysis.attention import Attention
from bidaf_plugin.analysis.attention_figure import draw_attention
from bidaf_plugin.analysis.figures import save_figure
from bidaf_plugin.analysis.html import render
from bidaf_plugin.analysis.tables import write_csv
from bidaf_plugin.common.files import write_atomically


def write_attention(
    attention: Attention, folder: str, threshold: float = 0.5, whole_passage: bool = False
) -> List[str]:
    """
    Writes a picture (.png, .svg), a page (.html) and the numbers (.json, .csv).

    # Returns

    `List[str]`
        Their paths: the id of the question, in `folder`.
    """
    path = os.path.join(folder, file_name(attention.id))
    paths = save_figure(draw_attention(attention, threshold, whole_passage), path)
    write_atomically(f"{path}.html", render_attention(attention, threshold))
    write_atomically(f"{path}.json", json.dumps(attention.to_json()) + "\n")
    write_csv(f"{path}.csv", attention.rows())
    return [*paths, *(f"{path}.{extension}" for extension in ("html", "json", "csv"))]


def file_name(id: str) -> str:
    """An id as the name of a file, whatever it is made of."""
    return re.sub(r"[^\w.-]", "_", id)[:100].lstrip(".") or "attention"


def render_attention(attention: Attention, threshold: float = 0.5) -> str:
    """A page on which each word shows what it attends to."""
    weights = attention.passage_weights
    strongest = [
        (word, [(attention.passage_words[place], weight) for place, weight in places])
        for word, places in zip(
            attention.question_words, attention.strongest(threshold), strict=True
        )
        if places
    ]
    return render(
        "attention.html",
        title=attention.question,
        question_words=attention.question_words,
        passage=list(_pieces(attention)),
        answer=attention.answer if attention.answer_words else None,
        confidence=f"{attention.confidence:.2g}",
        has_weights=weights is not None,
        has_gold=bool(attention.gold_words),
        threshold=f"{threshold:g}",
        strongest=strongest,
        data={
            "matrix": attention.matrix.round(4).tolist(),
            "weights": None if weights is None else weights.round(6).tolist(),
        },
    )


def _pieces(attention: Attention) -> Iterator[Tuple[str, str, str]]:
    """What stands before each word of the passage, the word, and whether an answer has it."""
    first, last = attention.answer_words or (0, -1)
    end = 0
    for place, (start, next_end) in enumerate(attention.passage_offsets):
        kinds = []
        if first <= place <= last:
            kinds.append("answer")
        if any(first_gold <= place <= last_gold for first_gold, last_gold in attention.gold_words):
            kinds.append("gold")
        yield attention.passage[end:start], attention.passage[start:next_end], " ".join(kinds)
        end = next_end
