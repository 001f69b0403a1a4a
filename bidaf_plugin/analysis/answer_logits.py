from typing import Any, Dict, List, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.common.util import JsonDict

from bidaf_plugin.analysis.answering import answer_paragraphs
from bidaf_plugin.analysis.calibration import AnswerLogits
from bidaf_plugin.analysis.scores import score_questions
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.predictors import SpanPredictor

# The start logits and the end logits of a question.
_Logits = Tuple[numpy.ndarray, numpy.ndarray]


def collect_logits(
    predictor: SpanPredictor, paragraphs: Sequence[Paragraph], batch_size: Optional[int] = None
) -> AnswerLogits:
    """
    Answers all questions, once, and keeps what the confidences depend on.

    # Parameters

    predictor : `SpanPredictor`
        One that does not cut the passages into pieces.
    paragraphs : `Sequence[Paragraph]`
        From `read_gold_paragraphs`.
    batch_size : `int`, optional (default = `None`)
        As in `answer_paragraphs`.
    """
    logits_by_id: Dict[str, _Logits] = {}

    def keep(model: torch.nn.Module, inputs: Any, output_dict: Dict[str, Any]) -> None:
        logits_by_id.update(_logits_of_batch(output_dict))

    hook = predictor._model.register_forward_hook(keep)
    try:
        answers = answer_paragraphs(predictor, paragraphs, batch_size)
    finally:
        hook.remove()
    questions = [question for paragraph in paragraphs for question in paragraph.questions]
    predictions = {answer["id"]: answer["best_span_str"] for answer in answers}
    scores = score_questions(questions, predictions)
    logits = [logits_by_id[answer["id"]] for answer in answers]
    lengths = [len(start_logits) for start_logits, _ in logits]
    return AnswerLogits(
        numpy.concatenate([start_logits for start_logits, _ in logits]),
        numpy.concatenate([end_logits for _, end_logits in logits]),
        numpy.cumsum([0, *lengths[:-1]]),
        numpy.array([_best_score(*item) for item in zip(answers, logits, strict=True)]),
        numpy.array([score.em == 1 for score in scores]),
    )


def _logits_of_batch(output_dict: Dict[str, Any]) -> Dict[str, _Logits]:
    metadata = output_dict["metadata"]
    sides: List[List[numpy.ndarray]] = []
    for side, name in enumerate(("span_start_logits", "span_end_logits")):
        # Shape: (batch_size, passage_length)
        batch = output_dict[name].detach().cpu().numpy()
        rows = [
            row[: len(item["passage_tokens"])] for row, item in zip(batch, metadata, strict=True)
        ]
        if "no_answer_logits" in output_dict:
            # Shape: (batch_size, 2)
            further = output_dict["no_answer_logits"].detach().cpu().numpy()
            rows = [numpy.append(row, further[place, side]) for place, row in enumerate(rows)]
        sides.append([row - row.max() for row in rows])
    return {item["id"]: pair for item, pair in zip(metadata, zip(*sides, strict=True), strict=True)}


def _best_score(answer: JsonDict, logits: _Logits) -> float:
    # That there is no answer is the last outcome.
    first, last = answer["best_span"] or (-1, -1)
    return float(logits[0][first]) + float(logits[1][last])
