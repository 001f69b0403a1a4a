"""
The JSON objects that predictors take, and those that `SpanPredictor` gives.
"""

from typing import Any, List, Optional, Sequence, Union

from allennlp.common.util import JsonDict

from bidaf_plugin.common.errors import DataError, check_is_text
from bidaf_plugin.modules.output_layers.span_decoder import SpanDecoder
from bidaf_plugin.predictors.ranking import Ranking


def check_record(record: Any) -> None:
    """Raises a `DataError` that says what is wrong with a question, if anything is."""
    if not isinstance(record, dict):
        raise DataError(
            f"expected a JSON object with 'question' and 'passage', found {record!r:.60}"
        )
    _check_text("question", record.get("question"), record)
    passages = record.get("passages")
    if passages is None:
        _check_text("passage", _single_passage(record), record)
    elif _single_passage(record) is not None:
        raise DataError("there are both 'passage' and 'passages'; expected one of them")
    elif not isinstance(passages, list) or not passages:
        raise DataError(f"'passages' must be a list of strings, found {passages!r:.60}")
    else:
        for index, passage in enumerate(passages):
            _check_text(f"passages[{index}]", passage, record)
    n_best = record.get("n_best")
    if n_best is not None and (type(n_best) is not int or n_best < 1):
        raise DataError(f"'n_best' must be a whole number, 1 or more, found {n_best!r:.60}")


def _check_text(name: str, value: Any, record: JsonDict) -> None:
    if value is None and name in record:
        raise DataError(f"{name!r} is null; expected a string")
    if value is None:
        hint = "; a SQuAD file needs --use-dataset-reader" if "data" in record else ""
        raise DataError(f"{name!r} is missing; found {sorted(record)!r:.200}{hint}")
    if not isinstance(value, str):
        raise DataError(f"{name!r} must be a string, found {value!r:.60}")
    if not value.strip():
        raise DataError(f"{name!r} is empty")
    check_is_text(value, repr(name))


def _single_passage(record: JsonDict) -> Any:
    passage = record.get("passage")
    return record.get("context") if passage is None else passage


def passages_of(record: JsonDict) -> List[str]:
    """The passages of a question, of which there may be one."""
    passages = record.get("passages")
    return [_single_passage(record)] if passages is None else passages


def only_passage(record: JsonDict) -> str:
    """The passage of a question that may not have several."""
    check_record(record)
    if record.get("passages") is not None:
        raise DataError("there are several 'passages'; expected one 'passage'")
    return passages_of(record)[0]


def to_record(question: str, passage: Union[str, Sequence[str]], id: Any = None) -> JsonDict:
    """The JSON object of a question on a passage, or on a list of them."""
    is_list = isinstance(passage, (list, tuple))
    passages = {"passages": list(passage)} if is_list else {"passage": passage}
    return {"question": question, **passages, "id": id}


def id_of(record: JsonDict) -> Any:
    return record.get("id", record.get("qid"))


def make_record(
    id: Any,
    ranking: Ranking,
    decoder: SpanDecoder,
    no_answer_logits: Optional[Sequence[float]],
    with_n_best: bool,
    with_passage_index: bool,
) -> JsonDict:
    """
    The prediction for a question, of which all pieces have been ranked. It has the keys of
    `SpanOutputLayer.make_output_human_readable`, and those that are asked for.
    """
    no_answer_probability = None
    if no_answer_logits is not None:
        no_answer_probability = ranking.add_no_answer(*no_answer_logits)
    text, place, confidence = ranking.best_place()
    record: JsonDict = {
        "id": id,
        "best_span_str": text,
        "best_span": [place.first_token, place.last_token],
        "best_span_characters": [place.start, place.end],
        "confidence": confidence,
    }
    if with_passage_index:
        record["passage_index"] = place.passage_index
    if no_answer_probability is not None:
        record["no_answer_probability"] = no_answer_probability
        if decoder.no_answer_wins(no_answer_probability, confidence):
            record.update(
                {name: None for name in record if name.startswith(("best", "passage"))},
                best_span_str="",
                confidence=no_answer_probability,
            )
    if with_n_best:
        record["n_best"] = [answer.to_json() for answer in ranking.answers()]
    return record
