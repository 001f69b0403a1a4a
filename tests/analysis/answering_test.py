import gc
import gzip
import weakref
from pathlib import Path
from typing import Any, List

import pytest
from allennlp.predictors import Predictor

from bidaf_plugin.analysis import answering
from bidaf_plugin.analysis.answering import (
    NBEST_RULES,
    EnsembleAnswers,
    EnsembleScore,
    answer_from_nbest,
    answer_paragraphs,
    answer_together,
    best_spans,
    combine_nbest,
    find_best_spans,
    format_scores,
    score_together,
)
from bidaf_plugin.analysis.files import (
    first_answers,
    passages_of,
    read_paragraphs,
    write_nbest,
)
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.modules.ensemble_rules import Candidate
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.predictors.span_distributions import find_distributions
from tests.analysis.squad_helpers import PASSAGE, question, squad, write
from tests.helpers import TINY_SQUAD

PARAGRAPHS = read_paragraphs(TINY_SQUAD)
PASSAGES = passages_of(PARAGRAPHS)


class TestAnswering:
    @pytest.mark.parametrize("at_once, batch_size", [(2_000, None), (2, 1)])
    def test_answers_are_those_of_the_predictor_in_order(
        self,
        tiny_archive: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        at_once: int,
        batch_size: int,
    ) -> None:
        monkeypatch.setattr(answering, "QUESTIONS_AT_ONCE", at_once)
        paragraphs = read_paragraphs(TINY_SQUAD)
        answers = answer_paragraphs(load_span_predictor(tiny_archive), paragraphs, batch_size)
        predictor = Predictor.from_path(tiny_archive)
        expected = [
            predictor.predict_json({"id": q.id, "question": q.text, "passage": paragraph.passage})
            for paragraph in paragraphs
            for q in paragraph.questions
        ]
        assert len(answers) == 5
        for answer, alone in zip(answers, expected, strict=True):
            assert answer["confidence"] == pytest.approx(alone["confidence"], rel=1e-4)
            assert {**answer, "confidence": None} == {**alone, "confidence": None}
        assert "5/5" in capsys.readouterr().err

    def test_limits_of_training_leave_nothing_out(self, tiny_archive: Path, tmp_path: Path) -> None:
        long = question("long", text="Who " + "was it who " * 50 + "?")
        data = squad(long)
        # The training reader cuts passages after 400 tokens.
        data["data"][0]["paragraphs"][0]["context"] = PASSAGE + " And so on." * 200
        paragraphs = read_paragraphs(write(tmp_path / "data.json", data))
        (answer,) = answer_paragraphs(load_span_predictor(tiny_archive), paragraphs)
        assert answer["id"] == "long" and answer["best_span_str"]


class TestBestSpans:
    def test_the_first_is_the_models_answer_and_probabilities_fall(
        self, tiny_members: List[str]
    ) -> None:
        predictor = load_span_predictor(tiny_members[0])
        spans = find_best_spans(predictor, PARAGRAPHS)
        answers = first_answers("", spans, PASSAGES)
        for paragraph in PARAGRAPHS:
            for item in paragraph.questions:
                record = predictor.predict(item.text, paragraph.passage)
                assert answers[item.id] == record["best_span_str"]
                probabilities = [candidate.confidence for candidate in spans[item.id]]
                assert probabilities[0] == pytest.approx(record["confidence"], abs=1e-6)
                assert probabilities == sorted(probabilities, reverse=True)
                assert len(set(spans[item.id])) == len(probabilities) == 10

    def test_no_answer_is_one_of_them(self, tiny_members: List[str]) -> None:
        predictor = load_span_predictor(tiny_members[0])
        paragraph = PARAGRAPHS[0]
        record = {"question": paragraph.questions[0].text, "passage": paragraph.passage}
        (distribution,) = find_distributions(predictor, [record])
        distribution = distribution._replace(
            best_span=None, confidence=0.25, no_answer_log_probs=(-0.6931472, -0.6931472)
        )
        first, *others = best_spans(distribution, paragraph.passage)
        assert first == Candidate(None, 0.25)
        assert all(candidate.span is not None for candidate in others) and len(others) == 9


RULES = ["votes", "spans", "mean", "product"]


class TestAnswerTogether:
    def test_one_at_a_time_is_the_same(
        self, tiny_members: List[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # In groups of two questions, where the models answer one after the other.
        monkeypatch.setattr(answering, "QUESTIONS_AT_ONCE", 2)
        at_once = answer_together(tiny_members, PARAGRAPHS, RULES)
        in_turns = answer_together(tiny_members, PARAGRAPHS, RULES, one_at_a_time=True)
        assert at_once == in_turns
        assert list(at_once.single) == tiny_members
        assert list(at_once.together) == RULES
        ids = [question.id for paragraph in PARAGRAPHS for question in paragraph.questions]
        for answers in [*at_once.single.values(), *at_once.together.values()]:
            assert list(answers) == ids

    def test_single_answers_are_those_of_the_predictor(self, tiny_members: List[str]) -> None:
        answers = answer_together(tiny_members, PARAGRAPHS, ["votes"])
        for member in tiny_members:
            predictor = load_span_predictor(member)
            for paragraph in PARAGRAPHS:
                for item in paragraph.questions:
                    answer = predictor.predict(item.text, paragraph.passage)
                    assert answers.single[member][item.id] == answer["best_span_str"]

    def test_one_model_is_in_memory_at_a_time(
        self, tiny_members: List[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        loaded: List[weakref.ref] = []
        load_member = answering.load_member

        def count(*args: Any, **kwargs: Any) -> SpanPredictor:
            gc.collect()
            assert not any(reference() is not None for reference in loaded)
            predictor = load_member(*args, **kwargs)
            loaded.append(weakref.ref(predictor._model))
            return predictor

        monkeypatch.setattr(answering, "load_member", count)
        answer_together(tiny_members, PARAGRAPHS, ["votes"], one_at_a_time=True)
        # Each was also looked at in the beginning.
        assert len(loaded) == 2 * 3

    def test_a_limit_of_the_answer_s_length(self, tiny_members: List[str]) -> None:
        answers = answer_together(tiny_members[:2], PARAGRAPHS, RULES, max_answer_length=1)
        for predictions in answers.together.values():
            assert not any(" " in text for text in predictions.values())


class TestScoreTogether:
    def test_scores_every_model_and_every_rule(self) -> None:
        gold = {
            question.id: question.answers[0].text if question.answers else ""
            for paragraph in PARAGRAPHS
            for question in paragraph.questions
        }
        wrong = dict.fromkeys(gold, "elsewhere")
        answers = EnsembleAnswers({"a": gold, "b": wrong}, {"votes": gold})
        scores = score_together(answers, PARAGRAPHS)
        assert [score.answers_of for score in scores] == ["a", "b", "votes"]
        assert scores[0].em == scores[2].em == 100
        assert scores[1] == EnsembleScore("b", 0.0, 0.0)
        table = format_scores(scores).splitlines()
        assert table[0].split() == ["answers", "of", "EM", "F1"]
        assert table[2].split() == ["b", "0.00", "0.00"]

    def test_without_gold_answers_there_is_no_score(self) -> None:
        paragraph = PARAGRAPHS[0]
        bare = paragraph._replace(
            questions=[question._replace(answers=[]) for question in paragraph.questions]
        )
        assert score_together(EnsembleAnswers({}, {}), [bare]) == []


class TestNbestEnsemble:
    def test_answers_are_those_of_the_models_themselves(
        self, tiny_members: List[str], tmp_path: Path
    ) -> None:
        paths = [tmp_path / f"{number}.nbest.json.gz" for number in range(len(tiny_members))]
        for member, path in zip(tiny_members, paths, strict=True):
            write_nbest(path, find_best_spans(load_span_predictor(member), PARAGRAPHS))
            assert gzip.decompress(path.read_bytes()).startswith(b"{")
        together = answer_together(tiny_members, PARAGRAPHS, ["votes"])
        expected = together.together["votes"]
        answers, known = answer_from_nbest([str(path) for path in paths], PARAGRAPHS, ["votes"])
        assert answers.together["votes"] == expected
        for member, path in zip(tiny_members, paths, strict=True):
            assert answers.single[str(path)] == together.single[member]
        assert 0 < known < 1

    def test_spans_adds_up_what_is_known(self, tmp_path: Path) -> None:
        members = [
            [Candidate((0, 1), 0.5), Candidate((2, 3), 0.4)],
            [Candidate((4, 5), 0.6), Candidate((2, 3), 0.3)],
        ]
        assert combine_nbest("votes", members, "a b c") == "c"  # 0.6 / 2 is the largest vote
        assert combine_nbest("spans", members, "a b c") == "b"  # (0.4 + 0.3) / 2
        assert combine_nbest("spans", [], "a b c") == ""
        paths = [str(tmp_path / f"{number}.nbest.json") for number in range(2)]
        for path, member in zip(paths, members, strict=True):
            write_nbest(path, {"q": member})
        _, known = answer_from_nbest(paths, [], ["spans"])
        assert known == pytest.approx((0.9 + 0.9) / 2)

    def test_no_answer_can_win(self) -> None:
        members = [
            [Candidate(None, 0.9), Candidate((0, 1), 0.1)],
            [Candidate(None, 0.8)],
        ]
        for rule in NBEST_RULES:
            assert combine_nbest(rule, members, "a b c") == ""
