import json
from pathlib import Path
from typing import List

import pytest

from benchmarks.learning import main
from tests.helpers import tiny_params


@pytest.fixture
def arguments(tmp_path: Path) -> List[str]:
    config = tmp_path / "config.json"
    config.write_text(json.dumps(tiny_params("num_epochs:: 3")))
    return [
        *("--config", str(config), "--data", "", "-s", str(tmp_path / "run")),
        *("--output", str(tmp_path / "time.json")),
    ]


class TestLearning:
    def test_training_ends_with_the_target_and_the_model_is_kept(
        self, arguments: List[str], tmp_path: Path
    ) -> None:
        assert main([*arguments, "--target", "0.01"]) == 0
        figures = json.loads((tmp_path / "time.json").read_text())
        assert figures["is_reached"] and figures["f1"] >= 0.01 and figures["cores"] > 0
        assert len(figures["curve"]) == 1 and figures["hours"] == figures["curve"][0]["hours"]
        assert (tmp_path / "run" / "best.th").is_file()
        # Nothing is left to do, and it takes no more time.
        assert main([*arguments, "--target", "0.01"]) == 0
        assert json.loads((tmp_path / "time.json").read_text())["hours"] == figures["hours"]

    def test_a_target_that_is_out_of_reach_is_said(
        self, arguments: List[str], tmp_path: Path
    ) -> None:
        assert main([*arguments, "--target", "101"]) == 1
        figures = json.loads((tmp_path / "time.json").read_text())
        assert not figures["is_reached"] and len(figures["curve"]) == 3

    def test_the_time_of_all_sittings_counts(self, arguments: List[str], tmp_path: Path) -> None:
        # The first sitting ends after one epoch.
        main([*arguments, "--target", "0.01"])
        notes_path = tmp_path / "run" / "stopwatch.json"
        notes = json.loads(notes_path.read_text())
        notes["seconds"] += 3600
        notes_path.write_text(json.dumps(notes))
        main([*arguments, "--target", "101"])
        figures = json.loads((tmp_path / "time.json").read_text())
        assert len(figures["curve"]) == 3
        assert figures["curve"][0]["hours"] < 1 < figures["curve"][1]["hours"]
