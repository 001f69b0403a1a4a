"""
What all commands that write have in common: they try whether they can before they begin to work.
"""

from pathlib import Path
from typing import List

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from bidaf_plugin.common.errors import DataError
from tests.commands.helpers import run_action
from tests.disk_helpers import READ_ONLY, nearly_full_disk
from tests.helpers import TINY_SQUAD, tiny_params

OUT = f"{READ_ONLY}/out"
ASKED = ["--question", "Who?", "--passage", "It was Ada."]


class TestOutputs:
    @pytest.mark.parametrize(
        "arguments",
        [
            # What they should read is missing, and they do not get so far.
            ["answer", "no.tar.gz", "no.json", "-o", OUT],
            ["attention", "no.tar.gz", *ASKED, "-o", OUT],
            ["calibrate", "no.tar.gz", "no.json", "-o", OUT],
            ["compact", "no.tar.gz", "-o", OUT],
            ["compare", "no.json", "a.json", "b.json", "-o", OUT],
            ["errors", "no.json", "no.json", "-o", OUT],
            ["export", "no.tar.gz", OUT],
            ["neighbors", "no.tar.gz", "no.json", "-o", OUT],
            ["pack-cloze", "no", OUT],
            ["report", "no", "-o", OUT],
            ["reproduce", "--config", "no.jsonnet", "--results", OUT],
            ["saliency", "no.tar.gz", *ASKED, "-o", OUT],
            ["score", "no.json", "no.json", "--json", OUT],
            ["study", "no.jsonnet", "--steps", "1", "--evaluations", "1", "-s", OUT],
            ["tsne", "no.tar.gz", "no.json", "-o", OUT],
        ],
        ids=lambda arguments: arguments[0],
    )
    def test_a_read_only_folder_is_noticed_first(self, arguments: List[str]) -> None:
        with pytest.raises(DataError, match=f"^{OUT}: cannot be written: "):
            run_action(*arguments)

    @pytest.mark.parametrize("option", ["-o", "--archive"])
    def test_a_read_only_folder_for_an_ensemble(self, tiny_members: List[str], option: str) -> None:
        data = ["--data", "no.json"] if option == "-o" else []
        with pytest.raises(DataError, match=f"^{OUT}: cannot be written: "):
            run_action("ensemble", *tiny_members[:2], "--rule", "votes", *data, option, OUT)

    def test_a_read_only_folder_for_a_run(self, tiny_config: Path) -> None:
        with pytest.raises(DataError, match=f"^{OUT}: cannot be written: "):
            train_model(Params(tiny_params()), OUT)
        with pytest.raises(DataError, match=f"^{OUT}/run_1: cannot be written: "):
            run_action("train-ensemble", tiny_config, "-s", OUT)
        with pytest.raises(DataError, match=f"^{OUT}: cannot be written: "):
            run_action("quickstart", OUT)

    def test_a_full_disk_is_noticed_before_an_old_run_is_replaced(self, tmp_path: Path) -> None:
        (tmp_path / "old").write_text("")
        with pytest.raises(DataError, match="cannot be written: "), nearly_full_disk(1000):
            train_model(Params(tiny_params()), str(tmp_path), force=True)
        assert [path.name for path in tmp_path.iterdir()] == ["old"]

    def test_a_disk_that_fills_up_leaves_no_part_of_a_file(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        path = tmp_path / "report.html"
        with pytest.raises(OSError, match="File too large") as raised, nearly_full_disk(5000):
            run_action("report", tiny_archive.parent, "-o", path)
        assert raised.value.filename == str(path)
        assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("action", ["attention", "saliency", "neighbors", "tsne"])
def test_a_file_in_place_of_the_folder(tiny_archive: Path, tmp_path: Path, action: str) -> None:
    path = tmp_path / "file"
    path.write_text("precious")
    questions = ["--question", "Who?", "--passage", "Ada."]
    is_of_questions = action in ("attention", "saliency")
    # Before the archive is looked for.
    arguments = questions if is_of_questions else [TINY_SQUAD, "--words", "the"]
    with pytest.raises(DataError, match="file: this is a file, not a folder"):
        run_action(action, tmp_path / "none.tar.gz", *arguments, "-o", path)
    assert path.read_text() == "precious"
