from pathlib import Path
from random import Random
from typing import Any, Dict, List, Optional, Sequence

import numpy
import pytest

import bidaf_plugin
from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.export import export_archive
from bidaf_plugin.predictors.span_distributions import find_distributions
from bidaf_plugin.runtime import ExportedModel, QuestionError
from bidaf_plugin.runtime.answers import answer_key
from bidaf_plugin.runtime.options import AnswerOptions
from bidaf_plugin.runtime.pieces import PieceSettings
from bidaf_plugin.runtime.pipeline import QuestionAnsweringPipeline

# So many calls are compared with the definition of their output.
NUM_CALLS = 1_000
WORDS = [
    "Ada",
    "ada",
    "met",
    "the",
    "The",
    "Bob",
    ",",
    ".",
    "a",
    "mill",
    "in",
    "1871",
    "(",
    ")",
    "–",
    "of",
    "Orn's",
    "old-time",
    "U.S.",
    "and",
    "\n",
    "東京",
]
QUESTION, CONTEXT = "Who built it?", "The mill was built by Ada Orn in 1871."


class FakeModel:
    """Remembers what it was asked, and says always the same."""

    options = AnswerOptions(PieceSettings(1000, 300, 50.0, 400), None, None)

    def __init__(self, no_answer_probability: Optional[float] = None) -> None:
        self.no_answer_probability = no_answer_probability
        self.records: List[Dict[str, Any]] = []
        self.asked_options: Any = None

    def answer_all(
        self, records: Sequence[Dict[str, Any]], options: Optional[AnswerOptions] = None
    ) -> List[Dict[str, Any]]:
        self.records += records
        self.asked_options = options
        n_best = [
            {"text": "Ada", "probability": 0.5, "characters": [22, 25]},
            {"text": "1871", "probability": 0.1, "characters": [33, 37]},
        ]
        more = {"no_answer_probability": self.no_answer_probability}
        return [
            {
                "n_best": n_best[: record["n_best"]],
                **(more if more["no_answer_probability"] else {}),
            }
            for record in records
        ]

    def cut_question(self, question: str, max_tokens: int) -> str:
        return " ".join(question.split()[:max_tokens])


ADA = {"score": 0.5, "start": 22, "end": 25, "answer": "Ada"}
YEAR = {"score": 0.1, "start": 33, "end": 37, "answer": "1871"}


class TestInputs:
    def setup_method(self) -> None:
        self.model = FakeModel()
        self.qa = QuestionAnsweringPipeline(self.model)

    def test_one_question_gives_one_answer(self) -> None:
        sample = {"question": QUESTION, "context": CONTEXT}
        for answer in (self.qa(**sample), self.qa(sample), self.qa(QUESTION, CONTEXT)):
            assert answer == ADA
        assert self.qa(sample, top_k=2) == self.qa(sample, topk=2) == [ADA, YEAR]
        asked = [(record["question"], record["passage"]) for record in self.model.records]
        assert asked == [(QUESTION, CONTEXT)] * 5

    def test_lists_give_lists(self) -> None:
        sample = {"question": QUESTION, "context": CONTEXT}
        for answers in (
            self.qa(question=[QUESTION, "When?"], context=[CONTEXT, CONTEXT]),
            self.qa(question=[QUESTION, "When?"], context=CONTEXT),
            self.qa({"question": [QUESTION, "When?"], "context": CONTEXT}),
            self.qa([sample, sample]),
            self.qa(sample, sample),
            self.qa(iter([sample, sample])),
            self.qa([sample, sample], batch_size=1),
            self.qa(data=[sample, sample]),
        ):
            assert answers == [ADA, ADA]
        assert self.qa([sample]) == [ADA] and self.qa([]) == []
        assert self.qa([sample], top_k=2) == [[ADA, YEAR]]

    @pytest.mark.parametrize(
        "inputs, message",
        [
            ({"question": "", "context": CONTEXT}, "'question' is empty"),
            ({"question": QUESTION, "context": " \n"}, "'context' is empty"),
            ({"question": QUESTION, "context": ""}, "'context' is empty"),
            ({"question": QUESTION}, "'context' is missing"),
            ({"context": CONTEXT}, "'question' is missing"),
            ({"question": 5, "context": CONTEXT}, "'question' must be a string"),
            ({"question": QUESTION, "context": ["\ud800"]}, "'context' is a list"),
            ({"question": [QUESTION], "context": [CONTEXT] * 2}, "'question' has 1 items, and"),
            ({"question": QUESTION, "context": "x", "top_n": 3}, "there is no option 'top_n'"),
            ({"question": QUESTION, "context": "x", "top_k": 0}, "'top_k' must be a whole number"),
            (
                {"question": QUESTION, "context": "x", "max_answer_len": 1.5},
                "'max_answer_len' must",
            ),
            (
                {"question": QUESTION, "context": "x", "max_seq_len": 9, "doc_stride": 9},
                "'doc_stride' is 9 and must be less than the 9 words",
            ),
        ],
    )
    def test_mistakes_name_the_field(self, inputs: Dict[str, Any], message: str) -> None:
        with pytest.raises(QuestionError, match=message):
            self.qa(**inputs)
        assert isinstance(QuestionError(), ValueError)

    def test_mistakes_in_other_forms(self) -> None:
        for inputs in (("Who?",), (5,), (["Who?"],), ({"question": "x", "context": "y"}, "z")):
            with pytest.raises(QuestionError, match="'context'"):
                self.qa(*inputs)
        with pytest.raises(QuestionError, match="'context' is missing"):
            self.qa([{"question": "Who?"}])
        with pytest.raises(QuestionError, match="beside another"):
            self.qa({"question": "x", "context": "y"}, question="z")

    def test_options_reach_the_model(self) -> None:
        self.qa(
            *(QUESTION, CONTEXT),
            **{"max_answer_len": 3, "max_seq_len": 100, "doc_stride": 20, "max_question_len": 2},
            **{"align_to_words": True, "padding": "longest", "num_workers": 2},
        )
        assert self.model.records[-1]["question"] == "Who built"
        assert self.model.asked_options == AnswerOptions(PieceSettings(100, 80, 50.0, 100), 3, None)
        self.qa(QUESTION, CONTEXT, doc_stride=0)
        assert self.model.asked_options.pieces == PieceSettings(1000, 400, 50.0, 400)
        self.qa(QUESTION, CONTEXT)
        assert self.model.asked_options == self.model.options._replace(max_answer_length=15)
        assert QuestionAnsweringPipeline(self.model, top_k=2)(QUESTION, CONTEXT) == [ADA, YEAR]

    def test_there_may_be_no_answer(self) -> None:
        nothing = {"score": 0.3, "start": 0, "end": 0, "answer": ""}
        qa = QuestionAnsweringPipeline(FakeModel(no_answer_probability=0.3))
        options = {"handle_impossible_answer": True}
        assert qa(QUESTION, CONTEXT, top_k=3, **options) == [ADA, nothing, YEAR]
        assert qa(QUESTION, CONTEXT, top_k=2, **options) == [ADA, nothing]
        assert qa(QUESTION, CONTEXT, top_k=3) == [ADA, YEAR]
        sure = QuestionAnsweringPipeline(FakeModel(no_answer_probability=0.9))
        assert sure(QUESTION, CONTEXT, **options)["answer"] == ""
        # It has no such outcome.
        assert self.qa(QUESTION, CONTEXT, **options) == ADA


def make_text(random: Random, most_words: int) -> str:
    return "Ada " + " ".join(random.choices(WORDS, k=random.randint(0, most_words)))


def check_definition(
    answers: Any,
    context: str,
    offsets: numpy.ndarray,
    log_probs: Sequence[numpy.ndarray],
    max_answer_len: int,
    top_k: int,
) -> None:
    """That they are the answers of largest probability, each with its best span."""
    starts, ends = offsets.tolist()
    totals: Dict[str, float] = {}
    best: Dict[str, float] = {}
    of_span: Dict[Any, float] = {}
    for first in range(len(starts)):
        for last in range(first, min(len(starts), first + max_answer_len)):
            probability = float(numpy.exp(log_probs[0][first] + log_probs[1][last]))
            key = answer_key(context[starts[first] : ends[last]])
            totals[key] = totals.get(key, 0.0) + probability
            best[key] = max(best.get(key, 0.0), probability)
            of_span[starts[first], ends[last]] = probability
    assert len(answers) == min(top_k, len(totals))
    keys = [answer_key(answer["answer"]) for answer in answers]
    assert len(set(keys)) == len(keys)
    scores = [answer["score"] for answer in answers]
    assert scores == sorted(scores, reverse=True)
    assert scores == pytest.approx(sorted(totals.values(), reverse=True)[:top_k], rel=1e-4)
    for key, answer in zip(keys, answers, strict=True):
        assert answer.keys() == {"score", "start", "end", "answer"}
        assert context[answer["start"] : answer["end"]] == answer["answer"] != ""
        assert answer["score"] == pytest.approx(totals[key], rel=1e-4)
        assert of_span[answer["start"], answer["end"]] == pytest.approx(best[key], rel=1e-4)


class TestDefinition:
    """Drawn calls, in all forms, against the definition of what they give."""

    @pytest.fixture(scope="class", params=["archive", "exported"])
    def asked(
        self,
        request: pytest.FixtureRequest,
        tiny_archive: Path,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> QuestionAnsweringPipeline:
        if request.param == "archive":
            return bidaf_plugin.pipeline("question-answering", model=tiny_archive)
        out = tmp_path_factory.mktemp("exported") / "model.onnx"
        export_archive(str(tiny_archive), str(out))
        return bidaf_plugin.pipeline("question-answering", model=str(out))

    def test_of_drawn_calls(self, asked: QuestionAnsweringPipeline, tiny_archive: Path) -> None:
        is_archive = not isinstance(asked.model, ExportedModel)
        random = Random(0)
        predictor = load_span_predictor(tiny_archive)
        calls = [(make_text(random, 9), make_text(random, 40)) for _ in range(NUM_CALLS // 2)]
        records = [{"question": question, "passage": context} for question, context in calls]
        distributions = find_distributions(predictor, records)
        answer: Any
        for number, ((question, context), found) in enumerate(
            zip(calls, distributions, strict=True)
        ):
            top_k, max_answer_len = random.choice([1, 2, 3, 5, 100]), random.choice([1, 2, 5, 15])
            options = {"top_k": top_k, "max_answer_len": max_answer_len}
            if number % 3 == 0:
                answer = asked(question=question, context=context, **options)
            elif number % 3 == 1:
                answer = asked({"question": question, "context": context}, **options)
            else:
                answers = asked(question=[question, "Who?"], context=[context, "Ada."], **options)
                assert len(answers) == 2
                answer = answers[0]
            assert isinstance(answer, dict if top_k == 1 else list), is_archive
            check_definition(
                [answer] if top_k == 1 else answer,
                context,
                numpy.stack([found.starts, found.ends]),
                [found.start_log_probs, found.end_log_probs],
                max_answer_len,
                top_k,
            )

    def test_long_contexts_are_read_in_pieces(self, asked: QuestionAnsweringPipeline) -> None:
        context = "Nothing is said here, or there. " * 30 + "Ada built the mill. " + "Or not. " * 90
        options = {"max_seq_len": 50, "doc_stride": 10, "top_k": 4}
        answers = asked(question="Who built the mill?", context=context, **options)
        assert len(answers) == 4
        for answer in answers:
            assert context[answer["start"] : answer["end"]] == answer["answer"]
        # The piece with the words of the question.
        assert answers[0]["start"] in range(context.index("Ada") - 400, context.index("Ada") + 400)


class TestPipeline:
    def test_the_packaged_model_is_the_default(self) -> None:
        qa = bidaf_plugin.pipeline("question-answering")
        answer = qa(question=QUESTION, context=CONTEXT)
        assert answer["answer"] == "Ada Orn" == CONTEXT[answer["start"] : answer["end"]]

    def test_what_is_no_model_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(QuestionError, match="there is no pipeline for 'fill-mask'"):
            bidaf_plugin.pipeline("fill-mask")
        with pytest.raises(DataError, match="distilbert/distilbert: there is no such file"):
            bidaf_plugin.pipeline("question-answering", model="distilbert/distilbert")
        with pytest.raises(QuestionError, match="'device' must be"):
            bidaf_plugin.pipeline("question-answering", device="tpu")
        (tmp_path / "model.onnx").write_bytes(b"something else")
        with pytest.raises(ValueError, match="not a model that 'allennlp bidaf export' wrote"):
            bidaf_plugin.pipeline("question-answering", model=tmp_path / "model.onnx")
