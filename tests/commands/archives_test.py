import re
from pathlib import Path
from typing import Any

import pytest

from bidaf_plugin.analysis.answering import answer_paragraphs
from bidaf_plugin.analysis.files import read_paragraphs
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.errors import DataError
from tests.analysis.squad_helpers import PASSAGE, question, squad, write
from tests.commands.helpers import run_action
from tests.helpers import FIXTURES

SAMPLE = FIXTURES / "squad" / "sample_dev.json"


@pytest.fixture
def half_right(tiny_archive: Path, tmp_path: Path) -> str:
    """Data of which the model answers every second question right."""
    predictor = load_span_predictor(tiny_archive)
    paragraphs = read_paragraphs(SAMPLE)[:10]
    answers = iter(answer_paragraphs(predictor, paragraphs))
    data: Any = {"data": [{"title": "T", "paragraphs": []}]}
    for paragraph in paragraphs:
        qas = []
        for number, item in enumerate(paragraph.questions):
            answer = next(answers)
            start, end = answer["best_span_characters"]
            gold = {"text": paragraph.passage[start:end], "answer_start": start}
            if number % 2:
                gold = {"text": paragraph.passage, "answer_start": 0}
            qas.append({"id": item.id, "question": item.text, "answers": [gold]})
        data["data"][0]["paragraphs"].append({"context": paragraph.passage, "qas": qas})
    return write(tmp_path / "half_right.json", data)


class TestCalibrate:
    def test_confidences_change_and_answers_do_not(
        self,
        tiny_archive: Path,
        half_right: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        out = tmp_path / "calibrated.tar.gz"
        run_action("calibrate", tiny_archive, half_right, "-o", out)
        text = capsys.readouterr().out
        match = re.search(r"questions: ([\d.]+) before, ([\d.]+) after", text)
        assert match and float(match[2]) < float(match[1])
        assert re.search(r"calibrated.tar.gz: temperature 0\.\d+$", text.strip())
        paragraphs = read_paragraphs(half_right)
        before, after = (
            answer_paragraphs(load_span_predictor(path), paragraphs) for path in (tiny_archive, out)
        )
        assert [item["best_span"] for item in before] == [item["best_span"] for item in after]
        # The untrained model is right more often than it believes.
        assert sum(item["confidence"] for item in after) > sum(
            item["confidence"] for item in before
        )

    def test_in_place_a_second_time_changes_nothing_much(
        self,
        tiny_archive: Path,
        half_right: str,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        archive = tmp_path / "model.tar.gz"
        archive.write_bytes(tiny_archive.read_bytes())
        temperatures = []
        for _ in range(2):
            run_action("calibrate", archive, half_right, "-o", archive)
            match = re.search(r"temperature (\S+)", capsys.readouterr().out)
            assert match
            temperatures.append(float(match[1]))
        assert temperatures[1] == pytest.approx(temperatures[0], rel=1e-2)

    def test_what_cannot_be_fitted_leaves_no_archive(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "out.tar.gz"
        wrong = write(tmp_path / "wrong.json", squad(question("a", [PASSAGE])))
        unlabelled = write(tmp_path / "unlabelled.json", squad(question("a", [])))
        for data, message in (
            (wrong, "0 of 1 answers are right"),
            (unlabelled, "neither a gold answer"),
        ):
            with pytest.raises(DataError, match=message):
                run_action("calibrate", tiny_archive, data, "-o", out)
        # The folder of a run can be loaded, but there is no archive to write anew.
        with pytest.raises(DataError, match="expected a model.tar.gz"):
            run_action("calibrate", tiny_archive.parent, wrong, "-o", out)
        assert not out.exists()
