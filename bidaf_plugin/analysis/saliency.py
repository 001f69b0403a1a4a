"""
How much each word of a question and of its passage matters to the answer, through
`allennlp.interpret`, and how that is shown.
"""

import json
import os
from typing import Any, Dict, List, NamedTuple, Sequence

import numpy
import torch
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.interpret import SaliencyInterpreter
from allennlp.predictors import Predictor

from bidaf_plugin.analysis.formats import align_columns, file_name, render
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.data.fields.windowed_text_field import WindowedTextField

# The names of AllenNLP's interpreters.
METHODS = ("simple-gradient", "integrated-gradient", "smooth-gradient")


class SalientWord(NamedTuple):
    """A word of a text, and how much it matters."""

    # What stands between the word before and this one.
    before: str
    word: str
    # The scores of a text are not negative and sum to 1 (or are all 0, if nothing matters).
    score: float


class Saliency(NamedTuple):
    """By one of `METHODS`, how much each word matters to an answer, that of the model."""

    method: str
    answer: str
    question: List[SalientWord]
    passage: List[SalientWord]

    def to_json(self) -> Dict[str, Any]:
        question, passage = (
            [{"word": word, "score": round(score, 6)} for _, word, score in words]
            for words in (self.question, self.passage)
        )
        return {**self._asdict(), "question": question, "passage": passage}


def find_saliency(
    predictor: Predictor, record: JsonDict, method: str = METHODS[0], seed: int = 0
) -> Saliency:
    """
    For the answer of a `SpanPredictor` or a `ClozePredictor` to a `question` on a `passage`. The score of a word
    is the gradient of the loss times its vector; the integral of that on the way from zero vectors
    ([Sundararajan et al., 2017](https://arxiv.org/abs/1703.01365)); or the gradient averaged over noise
    ([Smilkov et al., 2017](https://arxiv.org/abs/1706.03825)), which the seed decides.
    """
    instance = predictor._json_to_instance(record)
    answer = predictor.predict_json(record)
    interpreter = SaliencyInterpreter.by_name(method)(predictor)
    # Where no word matters AllenNLP divides by zero.
    with torch.random.fork_rng(), numpy.errstate(invalid="ignore"):
        torch.manual_seed(seed)
        gradients = interpreter.saliency_interpret_from_json(record)["instance_1"]
    # Gradients come in the reverse order.
    passage_scores, question_scores = (
        numpy.nan_to_num(numpy.array(gradients[f"grad_input_{number}"])) for number in (1, 2)
    )
    passage = instance["passage"]
    if isinstance(passage, WindowedTextField):
        # A word counts in each window that it is in.
        positions = passage.word_positions().reshape(-1)
        is_word = positions >= 0
        # Shape: (num_words,)
        passage_scores = numpy.bincount(positions[is_word], passage_scores[is_word], len(passage))
    best = answer["best_span_str"] if "best_span_str" in answer else answer["best_entity"]
    return Saliency(
        method,
        best or "",
        _salient_words(instance, "question", question_scores),
        _salient_words(instance, "passage", passage_scores),
    )


def _salient_words(instance: Instance, name: str, scores: Sequence[float]) -> List[SalientWord]:
    metadata, tokens = instance["metadata"], instance[name].tokens
    if any(token.idx is None for token in tokens):
        # Entities have all the same text in their tokens.
        words = metadata[name].split()
        starts = ["" if index == 0 else " " for index in range(len(words))]
    else:
        words = [token.text for token in tokens]
        ends = [0, *(token.idx + len(token.text) for token in tokens)]
        starts = [metadata[name][end : token.idx] for end, token in zip(ends, tokens, strict=False)]
    return [
        SalientWord(before, word, float(score))
        for before, word, score in zip(starts, words, scores, strict=True)
    ]


def format_saliency(saliency: Saliency, number: int = 10) -> str:
    """The words that matter most, as plain text."""
    paragraphs = [f"answer: {saliency.answer or 'none'}"]
    for name, words in (("question", saliency.question), ("passage", saliency.passage)):
        ranked = sorted(words, key=lambda word: -word.score)[:number]
        rows = [[name, "score"], *([word.word, f"{word.score:.3f}"] for word in ranked)]
        paragraphs.append(align_columns(rows))
    return "\n\n".join(paragraphs)


def write_saliency(saliency: Saliency, question: str, id: str, folder: str) -> List[str]:
    """Writes a page (.html) and the numbers (.json), and returns their paths."""
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
        texts={"Question": saliency.question, "Passage": saliency.passage},
    )
