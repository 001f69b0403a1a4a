"""
What several tests of `interpret` share: predictors of tiny models, and attention made by hand.
"""

from typing import Any

import numpy
from allennlp.common import Params
from allennlp.data import DatasetReader

from bidaf_plugin.analysis.attention import Attention
from bidaf_plugin.predictors import SpanPredictor
from tests.helpers import build_model, read_tiny, tiny_params

QUESTION = "Who planted the orchard?"
PASSAGE = "The orchard by the hill was planted by Ada Venn in 1855."


def tiny_predictor(choices: str = "", seed: int = 0) -> SpanPredictor:
    """An untrained tiny model."""
    params = tiny_params(choices)
    instances = read_tiny(params)
    reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
    for instance in instances:
        reader.apply_token_indexers(instance)
    return SpanPredictor(build_model(params, instances, seed), reader)


def make_attention(num_words: int = 4, **changes: Any) -> Attention:
    """Attention on the passage "w0 w1 ...", whose answer is w1 and whose gold answer w1 w2."""
    words = [f"w{number}" for number in range(num_words)]
    starts = numpy.cumsum([0, *(len(word) + 1 for word in words[:-1])]).tolist()
    # Shape: (2, num_words)
    matrix = numpy.stack([numpy.linspace(1, 0, num_words), numpy.linspace(0, 1, num_words)])
    values = {
        "id": "q1",
        "question": "Why not",
        "passage": " ".join(words),
        "question_words": ["Why", "not"],
        "question_offsets": [(0, 3), (4, 7)],
        "passage_words": words,
        "passage_offsets": [(s, s + len(w)) for s, w in zip(starts, words, strict=True)],
        "matrix": matrix,
        "passage_weights": numpy.full(num_words, 1 / num_words),
        "answer": "w1",
        "answer_words": (1, 1),
        "confidence": 0.25,
        "gold_words": [(1, 2)],
    }
    return Attention(**{**values, **changes})
