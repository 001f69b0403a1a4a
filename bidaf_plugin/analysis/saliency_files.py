"""
What `allennlp bidaf saliency` says and writes.
"""

import json
import os
from typing import Any, Dict, List

from bidaf_plugin.analysis.attention_files import file_name
from bidaf_plugin.analysis.html import render
from bidaf_plugin.analysis.saliency import Saliency, SalientWord
from bidaf_plugin.analysis.tables import align_columns
from bidaf_plugin.common.files import write_atomically


def format_saliency(saliency: Saliency, number: int = 10) -> str:
    """The words that matter most, as plain text."""
    parts = [f"answer: {saliency.answer or 'none'}"]
    for name, words in (("question", saliency.question), ("passage", saliency.passage)):
        ranked = sorted(words, key=lambda word: -word.score)[:number]
        parts.append(
            align_columns([[name, "score"], *([w.word, f"{w.score:.3f}"] for w in ranked)])
        )
    return "\n\n".join(parts)


def write_saliency(saliency: Saliency, question: str, id: str, folder: str) -> List[str]:
    """
    Writes a page (.html) and the numbers (.json).

    # Returns

    `List[str]`
        Their paths.
    """
    path = os.path.join(folder, file_name(f"{id or 'saliency'}-{saliency.method}"))
    write_atomically(f"{path}.html", render_saliency(saliency, question))
    write_atomically(f"{path}.json", json.dumps(saliency.to_json()) + "\n")
    return [f"{path}.html", f"{path}.json"]


def render_saliency(saliency: Saliency, question: str) -> str:
    """A page with both texts, each word coloured as much as it matters."""
    return render(
        "saliency.html",
        title=question,
        method=saliency.method,
        answer=saliency.answer,
        texts={"Question": _shades(saliency.question), "Passage": _shades(saliency.passage)},
    )


def _shades(words: List[SalientWord]) -> List[Dict[str, Any]]:
    largest = max((word.score for word in words), default=0.0) or 1.0
    return [
        {
            "before": word.before,
            "word": word.word,
            "score": f"{word.score:.3f}",
            "shade": f"{word.score / largest:.3f}",
        }
        for word in words
    ]
