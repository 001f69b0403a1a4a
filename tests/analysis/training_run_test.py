import json
import math
from pathlib import Path
from typing import Any

import pytest

from bidaf_plugin.analysis.training_run import read_run
from bidaf_plugin.common.errors import DataError
from tests.analysis.run_helpers import write_run


class TestReadRun:
    def test_curves_are_what_was_measured(self, tmp_path: Path) -> None:
        run = read_run(str(write_run(tmp_path / "run")))
        assert run.curves() == {
            "loss": {
                "training": [(0, 4.0), (1, 2.0), (2, 1.0)],
                "validation": [(0, 3.0), (1, 2.5), (2, 2.6)],
            },
            "f1": {"validation": [(0, 10.0), (1, 30.0), (2, 20.0)]},
        }
        assert run.metrics is None and run.model_path is None

    def test_epochs_are_in_order(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run")
        (folder / "metrics_epoch_10.json").write_text(json.dumps({"epoch": 10}))
        assert [epoch["epoch"] for epoch in read_run(str(folder)).epochs] == [0, 1, 2, 10]

    def test_a_file_that_is_just_being_written_is_left_out(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run")
        (folder / "metrics_epoch_3.json").write_text('{"epoch": 3, "trai')
        (folder / "metrics_epoch_4.json").write_text("")
        (folder / "metrics.json").write_text("{")
        run = read_run(str(folder))
        assert len(run.epochs) == 3 and run.metrics is None

    @pytest.mark.parametrize(
        "content",
        [b"\xff", b"[" * 100_000, b"[]", b'{"epoch": 3, "training_loss": ' + b"9" * 5_000],
    )
    def test_what_is_no_json_object_is_left_out(self, content: bytes, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run", config={"model": {}})
        (folder / "metrics_epoch_3.json").write_bytes(content)
        assert len(read_run(str(folder)).epochs) == 3

    def test_a_number_of_thousands_of_digits_is_infinite(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run", config={"model": {}})
        content = f'{{"epoch": 3, "training_loss": {"9" * 5_000}}}'
        (folder / "metrics_epoch_3.json").write_text(content)
        run = read_run(str(folder))
        assert run.epochs[3]["training_loss"] == math.inf
        assert len(run.curves()["loss"]["training"]) == 3

    @pytest.mark.parametrize("epoch", [2, "3", None, [3]])
    def test_an_epoch_is_that_of_its_file(self, epoch: Any, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run", config={"model": {}})
        (folder / "metrics_epoch_3.json").write_text(json.dumps({"epoch": epoch}))
        with pytest.raises(DataError, match="metrics_epoch_3.json: 'epoch' must be that"):
            read_run(str(folder))

    @pytest.mark.parametrize("value", ["NaN", "Infinity", "-1e308"])
    def test_values_that_cannot_be_drawn_have_no_place_in_a_curve(
        self, value: str, tmp_path: Path
    ) -> None:
        folder = write_run(tmp_path / "run", config={"model": {}})
        content = f'{{"epoch": 3, "training_loss": {value}}}'
        (folder / "metrics_epoch_3.json").write_text(content)
        assert len(read_run(str(folder)).curves()["loss"]["training"]) == 3

    def test_problems_of_the_log_are_there_once(self, tmp_path: Path) -> None:
        log = (
            "2026-01-01 10:00:00,1 - INFO - a - all is well\n"
            "2026-01-01 10:00:01,1 - WARNING - b - <b>look</b>\n"
            "2026-01-01 10:00:02,1 - WARNING - b - <b>look</b>\n"
            "2026-01-01 10:00:03,1 - ERROR - c - help\n"
        )
        run = read_run(str(write_run(tmp_path / "run", log=log)))
        assert run.problems == ["WARNING - b - <b>look</b>", "ERROR - c - help"]

    def test_the_archive_or_else_the_folder_with_weights(self, tmp_path: Path) -> None:
        folder = write_run(tmp_path / "run")
        (folder / "best.th").write_text("")
        assert read_run(str(folder)).model_path == str(folder)
        (folder / "model.tar.gz").write_text("")
        assert read_run(str(folder)).model_path == str(folder / "model.tar.gz")

    def test_no_run(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="there is no such folder"):
            read_run(str(tmp_path / "x"))
        with pytest.raises(DataError, match="not the folder of a training run: no config.json"):
            read_run(str(tmp_path))

    def test_a_folder_with_a_strange_name(self, tmp_path: Path) -> None:
        assert len(read_run(str(write_run(tmp_path / "run [1]*"))).epochs) == 3
