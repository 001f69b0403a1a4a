from pathlib import Path
from typing import List

import pytest
from allennlp.common.checks import ConfigurationError

from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.archives.ensemble import write_ensemble_archive
from bidaf_plugin.archives.rewrite import compact_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import EnsemblePredictor
from tests.commands.helpers import run_action
from tests.helpers import TINY_SQUAD

QUESTION, PASSAGE = "Who planted it?", "Ada planted it in 1855. Bo saw Ada planting it."


@pytest.fixture(scope="module")
def archive(tiny_members: List[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("ensemble") / "all.tar.gz"
    write_ensemble_archive(tiny_members, "spans", str(path))
    return path


class TestEnsemblePredictor:
    def test_lists_the_best_answers(self, archive: Path) -> None:
        predictor = load_span_predictor(archive, n_best=4)
        assert isinstance(predictor, EnsemblePredictor)
        record = predictor.predict(QUESTION, PASSAGE)
        assert len(record["n_best"]) == 4
        texts = [answer["text"] for answer in record["n_best"]]
        assert len(set(texts)) == 4
        assert record["best_span_str"] in texts
        probabilities = [answer["probability"] for answer in record["n_best"]]
        assert probabilities == sorted(probabilities, reverse=True)
        for answer in record["n_best"]:
            start, end = answer["characters"]
            assert PASSAGE[start:end] == answer["text"]

    def test_ask(self, archive: Path) -> None:
        predictor = load_span_predictor(archive)
        answers = predictor.ask(QUESTION, PASSAGE, n_best=3)
        assert len(answers) == 3
        assert answers.best is not None
        assert PASSAGE[answers.best.start : answers.best.end] == answers.best.text
        # It was for this question only.
        assert "n_best" not in predictor.predict(QUESTION, PASSAGE)

    def test_arguments_reach_the_members(self, archive: Path, tmp_path: Path) -> None:
        vectors = tmp_path / "vectors.txt"
        vectors.write_text("zeppelin " + " ".join(["0.5"] * 6) + "\n")
        predictor = load_span_predictor(archive, max_answer_length=1, pretrained_file=str(vectors))
        assert " " not in predictor.predict(QUESTION, PASSAGE)["best_span_str"]
        for member in predictor._model.members:
            assert member._output_layer.decoder.max_answer_length == 1
            assert "zeppelin" in member.vocab.get_token_to_index_vocabulary("tokens")
        with pytest.raises(ConfigurationError, match="n_best"):
            load_span_predictor(archive, n_best=0)

    def test_a_long_passage_is_read_as_a_whole(self, archive: Path) -> None:
        passage = "word " * 1_500 + PASSAGE
        start, end = load_span_predictor(archive).predict(QUESTION, passage)["best_span_characters"]
        assert 0 <= start < end <= len(passage)

    def test_several_passages_are_refused(self, archive: Path) -> None:
        with pytest.raises(DataError, match="reads one 'passage' .*not several 'passages'"):
            load_span_predictor(archive).predict(QUESTION, [PASSAGE, PASSAGE])

    def test_a_threshold_needs_a_member_with_the_score(self, archive: Path) -> None:
        with pytest.raises(ConfigurationError, match="no_answer"):
            load_span_predictor(archive, no_answer_threshold=0.5)

    def test_what_is_for_single_models_says_so(self, archive: Path, tmp_path: Path) -> None:
        out = tmp_path / "out.tar.gz"
        with pytest.raises(DataError, match="an ensemble; compact its members"):
            compact_archive(str(archive), str(out))
        with pytest.raises(DataError, match="an ensemble; calibrate its members"):
            run_action("calibrate", archive, TINY_SQUAD, "-o", out)
        assert not out.exists()
