"""
What a model attends to: the data behind Fig. 3 of
[Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603).
"""

from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

import numpy
from allennlp.data import Instance
from allennlp.models import Model

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer
from bidaf_plugin.data.fields.answer_spans_field import TokenSpan
from bidaf_plugin.data.tokenizers.text_tokens import with_offsets
from bidaf_plugin.modules import BiAttention
from bidaf_plugin.modules.bi_attention import AttentionFlowOutput
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.predictors.records import check_record

# What a summary shows: passage words whose attention is so large, so many of them, and weights that can be
# seen beside the strongest, of which this is a share.
_SUMMARY_THRESHOLD = 0.3
_SUMMARY_WORDS = 5
_FAINTEST = 0.05


@dataclass(frozen=True)
class Attention:
    """What a model attends to while it answers a question."""

    id: str
    question: str
    passage: str
    question_words: List[str]
    # First character of each word, and one past its last.
    question_offsets: List[Tuple[int, int]]
    passage_words: List[str]
    passage_offsets: List[Tuple[int, int]]
    # The paper's `a`, shape (num_question_words, num_passage_words): how much each passage word attends to each
    # question word. Each column sums to 1.
    matrix: numpy.ndarray
    # The paper's `b`, shape (num_passage_words,): how much each passage word matters to the question. Sums to 1.
    # None if the model has no query-to-context attention.
    passage_weights: Optional[numpy.ndarray]
    # The model's, and its first and last word (inclusive), None if it is that there is no answer.
    answer: str
    answer_words: Optional[TokenSpan]
    confidence: float
    # Likewise of the gold answers, if they are known.
    gold_words: List[TokenSpan]

    def strongest(self, threshold: float) -> List[Tuple[str, Dict[str, float]]]:
        """
        The question words to which passage words attend with at least `threshold`, each with these words and
        their attention, the strongest first. A word that occurs several times is named once.
        """
        found: List[Tuple[str, Dict[str, float]]] = []
        for question_word, row in zip(self.question_words, self.matrix, strict=True):
            by_word: Dict[str, float] = {}
            for index in numpy.argsort(-row, kind="stable"):
                if row[index] >= threshold:
                    by_word.setdefault(self.passage_words[index], float(row[index]))
            if by_word:
                found.append((question_word, by_word))
        return found

    def to_json(self) -> Dict[str, Any]:
        return {
            name: (
                value.astype(float).round(6).tolist() if isinstance(value, numpy.ndarray) else value
            )
            for name, value in vars(self).items()
        }

    def rows(self) -> Iterator[List[Any]]:
        """The header of a table with a row for each passage word, and its rows."""
        yield ["place", "passage word", "passage weight", *self.question_words]
        weights = [""] * len(self.passage_words)
        if self.passage_weights is not None:
            weights = [f"{weight:.6f}" for weight in self.passage_weights]
        for index, (word, weight) in enumerate(zip(self.passage_words, weights, strict=True)):
            yield [index, word, weight, *(f"{a:.6f}" for a in self.matrix[:, index])]


def find_attention(
    predictor: SpanPredictor,
    question: str,
    passage: str,
    id: str = "",
    answers: Sequence[GoldAnswer] = (),
) -> Attention:
    """
    Answers a question and keeps what the attention layer does meanwhile. With several hops it is
    that of the last. `answers` are the gold answers, if they are known.
    """
    check_record({"question": question, "passage": passage})
    instance = predictor._dataset_reader.text_to_instance(question, passage, id=id, answers=answers)
    (attention,) = find_attention_of_instances(predictor, [instance])
    return attention


def find_attention_of_instances(
    predictor: SpanPredictor, instances: List[Instance]
) -> List[Attention]:
    """The same for questions that the dataset reader has read, in one forward pass."""
    for instance in instances:
        predictor._dataset_reader.apply_token_indexers(instance)
    with kept_attention(predictor._model) as kept:
        outputs = predictor._model.forward_on_instances(instances)
    return [
        _attention_of(instance, output, kept[0], row)
        for row, (instance, output) in enumerate(zip(instances, outputs, strict=True))
    ]


@contextmanager
def kept_attention(model: Model) -> Iterator[List[AttentionFlowOutput]]:
    """While it lasts, what the attention layer returns is put into a list. It costs nothing else."""
    layers = [module for module in model.modules() if isinstance(module, BiAttention)]
    if not layers:
        raise DataError(
            "this model has no attention layer, of which a matrix could be shown: its modelling layer "
            "attends to the question word by word (dynamic_attention)"
        )
    kept: List[AttentionFlowOutput] = []
    hook = layers[0].register_forward_hook(lambda module, inputs, output: kept.append(output))
    try:
        yield kept
    finally:
        hook.remove()


def _attention_of(
    instance: Instance, output: Dict[str, Any], kept: AttentionFlowOutput, row: int
) -> Attention:
    metadata = instance["metadata"].metadata
    span, weights = output["best_span"], kept.question_passage_attention
    passage_tokens = instance["passage"].tokens
    question_tokens = with_offsets(instance["question"].tokens, metadata["question"])
    lengths = slice(len(passage_tokens)), slice(len(question_tokens))
    return Attention(
        id=metadata["id"],
        question=metadata["question"],
        passage=metadata["passage"],
        question_words=[token.text for token in question_tokens],
        question_offsets=[(token.idx, token.idx_end) for token in question_tokens],
        passage_words=[token.text for token in passage_tokens],
        passage_offsets=[(token.idx, token.idx_end) for token in passage_tokens],
        matrix=kept.passage_question_attention[(row, *lengths)].t().cpu().numpy(),
        passage_weights=None if weights is None else weights[row, lengths[0]].cpu().numpy(),
        answer=output["best_span_str"],
        answer_words=tuple(span) if span else None,
        confidence=float(output["confidence"]),
        gold_words=sorted({s for s in instance["answer_spans"].spans if s[0] >= 0}),
    )


class AttentionSummary(NamedTuple):
    """What matters most of it, for a page with many questions."""

    # The passage in stretches, each with how much it matters to the question, from 0 to 1, which is the most.
    # All are 0 if the model has no query-to-context attention.
    passage: List[Tuple[str, float]]
    # The words of the question that passage words attend to, each with the first of them.
    question_words: List[Tuple[str, List[str]]]


def summarize_attention(attention: Attention) -> AttentionSummary:
    strongest = attention.strongest(_SUMMARY_THRESHOLD)
    return AttentionSummary(
        _weigh_passage(attention), [(word, [*found][:_SUMMARY_WORDS]) for word, found in strongest]
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
