import gzip
import json
from pathlib import Path
from typing import Any, List

import pytest

from bidaf_plugin.analysis.ensemble import answer_together
from bidaf_plugin.analysis.nbest_files import (
    NbestEnsemble,
    answers_of,
    best_spans,
    find_best_spans,
    is_nbest_file,
    passages_of,
    read_nbest,
    write_nbest,
)
from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.modules.ensemble_rules import Candidate
from bidaf_plugin.predictors.span_distributions import find_distributions
from tests.helpers import TINY_SQUAD

PARAGRAPHS = list(read_squad_json(TINY_SQUAD))
PASSAGES = passages_of(PARAGRAPHS)


class TestFiles:
    @pytest.mark.parametrize("name", ["a.nbest.json", "a.nbest.json.gz"])
    def test_what_is_written_is_read_again(self, tmp_path: Path, name: str) -> None:
        spans = {
            "a": [Candidate((3, 9), 0.123456), Candidate(None, 1e-7)],
            "b": [Candidate((0, 1), 1.0)],
        }
        write_nbest(tmp_path / name, spans)
        assert read_nbest(tmp_path / name) == {
            "a": [Candidate((3, 9), 0.1235), Candidate(None, 1e-7)],
            "b": [Candidate((0, 1), 1.0)],
        }
        assert is_nbest_file(tmp_path / name) and not is_nbest_file("a.json.gz")

    def test_what_answer_writes_is_read_too(self, tmp_path: Path) -> None:
        item = {"text": "x", "probability": 0.5, "characters": [2, 3], "tokens": [1, 1]}
        path = tmp_path / "a.nbest.json"
        path.write_text(json.dumps({"a": [item]}))
        assert read_nbest(path) == {"a": [Candidate((2, 3), 0.5)]}

    @pytest.mark.parametrize(
        "content, fault",
        [
            ([], "expected one JSON object"),
            ({"q": []}, "'q': there must be a list of answers"),
            ({"q": ["x"]}, "'q': 'probability' must be a number"),
            ({"q": [{"characters": [1, 2], "probability": True}]}, "'probability' must be"),
            ({"q": [{"characters": [1, 2], "probability": 2}]}, "'probability' must be"),
            ({"q": [{"characters": [2, 2], "probability": 1}]}, "'characters' must be two rising"),
            ({"q": [{"characters": [-1, 2], "probability": 1}]}, "'characters' must be two rising"),
            (
                {"q": [{"characters": [1, 2.5], "probability": 1}]},
                "'characters' must be two rising",
            ),
            ({"q": [{"probability": 1}]}, "'characters' must be two rising"),
        ],
    )
    def test_faults_are_named(self, tmp_path: Path, content: Any, fault: str) -> None:
        path = tmp_path / "a.nbest.json"
        path.write_text(json.dumps(content))
        with pytest.raises(DataError, match=fault) as error:
            read_nbest(path)
        assert "a.nbest.json" in str(error.value)

    def test_answers_beyond_the_passage_are_of_other_data(self) -> None:
        with pytest.raises(DataError, match="character 90 of a passage of 3; is it about other"):
            answers_of("a.nbest.json", {"q": [Candidate((0, 90), 1.0)]}, {"q": "abc"})
        assert answers_of("a.nbest.json", {"other": [Candidate((0, 90), 1.0)]}, {"q": "abc"}) == {}


class TestBestSpans:
    def test_the_first_is_the_models_answer_and_probabilities_fall(
        self, tiny_members: List[str]
    ) -> None:
        predictor = load_span_predictor(tiny_members[0])
        spans = find_best_spans(predictor, PARAGRAPHS)
        answers = answers_of("", spans, PASSAGES)
        for paragraph in PARAGRAPHS:
            for question in paragraph.questions:
                record = predictor.predict(question.text, paragraph.passage)
                assert answers[question.id] == record["best_span_str"]
                probabilities = [candidate.confidence for candidate in spans[question.id]]
                assert probabilities[0] == pytest.approx(record["confidence"], abs=1e-6)
                assert probabilities == sorted(probabilities, reverse=True)
                assert len(set(spans[question.id])) == len(probabilities) == 10

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


class TestNbestEnsemble:
    def test_answers_are_those_of_the_models_themselves(
        self, tiny_members: List[str], tmp_path: Path
    ) -> None:
        paths = [tmp_path / f"{number}.nbest.json.gz" for number in range(len(tiny_members))]
        for member, path in zip(tiny_members, paths, strict=True):
            write_nbest(path, find_best_spans(load_span_predictor(member), PARAGRAPHS))
            assert gzip.decompress(path.read_bytes()).startswith(b"{")
        expected = answer_together(tiny_members, PARAGRAPHS, ["votes"]).together["votes"]
        ensemble = NbestEnsemble([read_nbest(path) for path in paths])
        answers = {id: ensemble.answer("votes", id, passage) for id, passage in PASSAGES.items()}
        assert answers == expected
        assert 0 < ensemble.probability_known() < 1

    def test_spans_adds_up_what_is_known(self) -> None:
        members = [
            {"q": [Candidate((0, 1), 0.5), Candidate((2, 3), 0.4)]},
            {"q": [Candidate((4, 5), 0.6), Candidate((2, 3), 0.3)]},
        ]
        ensemble = NbestEnsemble(members)
        assert ensemble.answer("votes", "q", "a b c") == "c"  # 0.6 / 2 is the largest vote
        assert ensemble.answer("spans", "q", "a b c") == "b"  # (0.4 + 0.3) / 2
        assert ensemble.probability_known() == pytest.approx((0.9 + 0.9) / 2)
        assert ensemble.answer("spans", "unknown", "a b c") == ""

    def test_no_answer_can_win(self) -> None:
        members = [
            {"q": [Candidate(None, 0.9), Candidate((0, 1), 0.1)]},
            {"q": [Candidate(None, 0.8)]},
        ]
        for rule in NbestEnsemble.RULES:
            assert NbestEnsemble(members).answer(rule, "q", "a b c") == ""
