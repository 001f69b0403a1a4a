"""
The question-answering pipeline that transformers had up to version 4, with the models of this package.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Protocol, Sequence, Tuple, Union

from bidaf_plugin.runtime.errors import QuestionError
from bidaf_plugin.runtime.exported_model import ExportedModel
from bidaf_plugin.runtime.options import AnswerOptions
from bidaf_plugin.runtime.pieces import PieceSettings
from bidaf_plugin.runtime.records import check_text

JsonDict = Dict[str, Any]

TASK = "question-answering"
_FIELDS = ("question", "context")
# So many questions are answered together, if it is not said otherwise.
_BATCH_SIZE = 2_000
# What the pipeline of transformers takes and makes no difference here. Words are never cut, on the CPU all is in
# single precision, and batches are padded as far as is needed.
_WITHOUT_EFFECT = {
    *("align_to_words", "padding", "truncation", "num_workers", "framework", "torch_dtype"),
    *("dtype", "use_fast", "device_map"),
}
_WITH_EFFECT = (
    *("top_k", "topk", "max_answer_len", "max_seq_len", "doc_stride", "max_question_len"),
    *("handle_impossible_answer", "batch_size"),
)
_WHOLE_NUMBERS = {*_WITH_EFFECT} - {"handle_impossible_answer"}


class Answerer(Protocol):
    """What a pipeline asks: an `ExportedModel` or a `SpanPredictor`."""

    @property
    def options(self) -> AnswerOptions: ...

    def answer_all(
        self, records: Sequence[JsonDict], options: Optional[AnswerOptions] = None
    ) -> List[JsonDict]: ...

    def cut_question(self, question: str, max_tokens: int) -> str: ...


class _Settings(NamedTuple):
    """The options of a call, with the defaults that they have in transformers where these make sense here."""

    top_k: int = 1
    max_answer_len: int = 15
    max_seq_len: Optional[int] = None
    doc_stride: Optional[int] = None
    max_question_len: Optional[int] = None
    handle_impossible_answer: bool = False
    batch_size: int = _BATCH_SIZE

    def pieces(self, default: PieceSettings) -> PieceSettings:
        """How passages are cut, given how they are cut if nothing is said."""
        if self.max_seq_len is None and self.doc_stride is None:
            return default
        size = self.max_seq_len or default.piece_tokens
        overlap = size // 4 if self.doc_stride is None else self.doc_stride
        if overlap >= size:
            raise QuestionError(
                f"'doc_stride' is {overlap} and must be less than the {size} words of a piece "
                "('max_seq_len')"
            )
        max_tokens = self.max_seq_len or default.max_tokens
        return PieceSettings(max_tokens, size - overlap, default.passage_weight, size)


class QuestionAnsweringPipeline:
    """
    Called as the pipeline of transformers was: `qa(question="Who?", context="Ada did.", top_k=3)`,
    `qa({"question": "Who?", "context": "Ada did."})`, or with lists of questions and contexts.

    # Parameters

    model : `Answerer`
    defaults : `Any`
        Options of calls, for those that do not say them.
    """

    def __init__(self, model: Answerer, **defaults: Any) -> None:
        self.model = model
        self._defaults = defaults
        _check_options(defaults)

    def __call__(self, *inputs: Any, **options: Any) -> Any:
        """
        # Parameters

        question, context : `Union[str, List[str]]`
            One of each; lists of the same length; or several questions on one context. In their place, the first
            argument (or `X`, or `data`) may be a dictionary with both or a list of such dictionaries.
        top_k : `int`, optional (default = `1`)
            How many answers to give. With 1 an answer is given, with more a list, which is shorter only if there
            are no more answers.
        max_answer_len : `int`, optional (default = `15`)
            The most words of an answer.
        max_seq_len : `int`, optional
            A context with more words is read in pieces of so many. By default the model knows how.
        doc_stride : `int`, optional
            How many words two pieces share.
        max_question_len : `int`, optional
            Words of a question beyond so many are not read. By default all are.
        handle_impossible_answer : `bool`, optional (default = `False`)
            Whether an empty answer may be among the answers, where the model can tell that there is none.
        batch_size : `int`, optional (default = `2000`)
            How many questions are answered together, at most.

        # Returns

        `Union[JsonDict, List[Any]]`
            An answer has its probability `score`, `start`, `end` and `answer`, which is `context[start:end]`. For
            a list of questions there is a list.

        # Raises

        `QuestionError`
            A `ValueError` that names the field which is at fault.
        """
        options = {**self._defaults, **options}
        given = {name: options.pop(name) for name in _FIELDS if name in options}
        inputs += tuple(options.pop(name) for name in ("X", "data") if name in options)
        samples, is_single = _read_inputs(inputs, given)
        settings = _check_options(options)
        for sample in samples:
            for name in _FIELDS:
                check_text(name, sample[name])
        answers: List[Any] = []
        for first in range(0, len(samples), settings.batch_size):
            answers += self._answer(samples[first : first + settings.batch_size], settings)
        return answers[0] if is_single else answers

    def _answer(self, samples: Sequence[Mapping[str, str]], settings: _Settings) -> List[Any]:
        options = self.model.options
        options = options._replace(
            pieces=settings.pieces(options.pieces), max_answer_length=settings.max_answer_len
        )
        records = [
            {
                "question": (
                    sample["question"]
                    if settings.max_question_len is None
                    else self.model.cut_question(sample["question"], settings.max_question_len)
                ),
                "passage": sample["context"],
                "n_best": settings.top_k,
            }
            for sample in samples
        ]
        return [_to_answers(record, settings) for record in self.model.answer_all(records, options)]


def _to_answers(record: JsonDict, settings: _Settings) -> Union[JsonDict, List[JsonDict]]:
    answers = [
        {
            "score": item["probability"],
            "start": item["characters"][0],
            "end": item["characters"][1],
            "answer": item["text"],
        }
        for item in record["n_best"]
    ]
    if settings.handle_impossible_answer and "no_answer_probability" in record:
        nothing = {"score": record["no_answer_probability"], "start": 0, "end": 0, "answer": ""}
        answers = sorted([*answers, nothing], key=lambda answer: -answer["score"])
    return answers[0] if settings.top_k == 1 else answers[: settings.top_k]


def _read_inputs(
    inputs: Tuple[Any, ...], given: Dict[str, Any]
) -> Tuple[List[Mapping[str, Any]], bool]:
    """The questions with their contexts, and whether it is one that did not come in a list."""
    if inputs and given:
        raise QuestionError(f"{next(iter(given))!r} is given beside another question")
    if len(inputs) == 2 and all(isinstance(text, str) for text in inputs):
        given = dict(zip(_FIELDS, inputs, strict=True))
    elif len(inputs) == 1:
        (inputs,) = inputs
        if not isinstance(inputs, Mapping):
            if isinstance(inputs, str) or not isinstance(inputs, Iterable):
                raise QuestionError(f"'context' is missing; there is only {inputs!r:.60}")
            return [_check_sample(sample) for sample in inputs], False
        given = dict(inputs)
    elif inputs:
        return [_check_sample(sample) for sample in inputs], False
    _check_sample(given)
    questions, contexts = given["question"], given["context"]
    if not isinstance(questions, (list, tuple)):
        if isinstance(contexts, (list, tuple)):
            raise QuestionError("'context' is a list, and 'question' is not")
        return [{"question": questions, "context": contexts}], True
    if not isinstance(contexts, (list, tuple)):
        contexts = [contexts] * len(questions)
    if len(questions) != len(contexts):
        raise QuestionError(
            f"'question' has {len(questions)} items, and 'context' has {len(contexts)}"
        )
    pairs = zip(questions, contexts, strict=True)
    return [{"question": question, "context": context} for question, context in pairs], False


def _check_sample(sample: Any) -> Mapping[str, Any]:
    if not isinstance(sample, Mapping):
        raise QuestionError(
            f"expected dictionaries with 'question' and 'context', found {sample!r:.60}"
        )
    for name in _FIELDS:
        if sample.get(name) is None:
            raise QuestionError(f"{name!r} is missing")
    return sample


def _check_options(options: Dict[str, Any]) -> _Settings:
    """What is asked for, or a `QuestionError` that says what cannot be."""
    for name, value in options.items():
        if name not in _WITHOUT_EFFECT and name not in _WITH_EFFECT:
            raise QuestionError(
                f"there is no option {name!r}; there are {', '.join(sorted(_WITH_EFFECT))}"
            )
        least = 0 if name == "doc_stride" else 1
        is_wrong = type(value) is not int or value < least
        if name in _WHOLE_NUMBERS and value is not None and is_wrong:
            raise QuestionError(
                f"{name!r} must be a whole number, {least} or more, not {value!r:.60}"
            )
    known = {
        # What `top_k` was called once.
        "top_k" if name == "topk" else name: value
        for name, value in options.items()
        if name in _WITH_EFFECT and value is not None
    }
    return _Settings(**known)


def pipeline(
    task: str, model: Union[str, Path], num_threads: Optional[int] = None, **defaults: Any
) -> QuestionAnsweringPipeline:
    """
    # Parameters

    task : `str`
        "question-answering".
    model : `Union[str, Path]`
        What `allennlp bidaf export` wrote.
    num_threads : `int`, optional (default = `None`)
        See `Session`.
    defaults : `Any`
        Options of calls, for those that do not say them.
    """
    check_task(task)
    return QuestionAnsweringPipeline(ExportedModel(model, num_threads), **defaults)


def check_task(task: str) -> None:
    if task != TASK:
        raise QuestionError(f"there is no pipeline for {task!r:.60}; there is one for {TASK!r}")
