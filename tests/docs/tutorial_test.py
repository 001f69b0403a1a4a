"""What the tutorial, and the page about extensions, tell people to run does run: in tiny, but as it stands."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import List

import pytest
from allennlp.commands import main
from allennlp.common import Registrable
from allennlp.modules.matrix_attention import MatrixAttention

from tests.docs.pages import code_blocks, statements
from tests.helpers import ROOT

# What makes the commands that train short.
TINY = {"dataset_reader.max_instances": 30, "data_loader.batch_sampler.batch_size": 6}
TINY_TRAIN = {**TINY, "trainer.num_epochs": 1}
TUTORIAL, EXTENDING = (ROOT / "docs" / name for name in ("tutorial.md", "extending.md"))


def with_overrides(command: List[str], overrides: dict) -> List[str]:
    """The same command with more overrides than it has."""
    if "-o" in command:
        place = command.index("-o") + 1
        overrides = {**json.loads(command[place]), **overrides}
        command = command[: place - 1] + command[place + 1 :]
    return [*command, "-o", json.dumps(overrides)]


def in_tiny(command: List[str]) -> List[str]:
    """A command that takes seconds where it would take minutes."""
    if command[1] == "train":
        return with_overrides(command, TINY_TRAIN)
    if command[1:3] == ["bidaf", "study"]:
        # Of two options of the same name the last counts.
        return [*with_overrides(command, TINY), "--steps", "2", "--evaluations", "1"]
    return command


def run_page(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs all commands of a page, one after the other, those of AllenNLP in this process."""
    for block in code_blocks(page, "bash"):
        for statement in statements(block):
            if not statement.startswith("allennlp "):
                subprocess.run(["bash", "-e", "-c", statement], check=True)
                continue
            monkeypatch.setattr(sys, "argv", in_tiny(shlex.split(statement, comments=True)))
            main("allennlp")


@pytest.fixture(autouse=True)
def in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that looks like the repository, so that nothing is written into that."""
    for name in ("bidaf_plugin", "fixtures", "pretrained", "training_configs", ".allennlp_plugins"):
        (tmp_path / name).symlink_to(ROOT / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


class TestTutorial:
    def test_swaps_alpha_trains_and_compares(
        self, in_a_copy: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        run_page(TUTORIAL, monkeypatch)
        runs = in_a_copy / "runs" / "tutorial"
        configs = [
            json.loads((runs / run / "config.json").read_text())["model"]["attention"]["similarity"]
            for run in ("trilinear", "dot")
        ]
        assert [config["type"] for config in configs] == ["linear", "dot_product"]
        assert "| dot | 2 |" in (runs / "study" / "comparison.md").read_text()
        # What the page shows of the table of parameters is what the command prints.
        table, _ = code_blocks(TUTORIAL, "text")
        assert table.text in capsys.readouterr().out

    def test_a_similarity_of_ones_own(
        self, in_a_copy: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        registry = dict(Registrable._registry[MatrixAttention])
        monkeypatch.setitem(Registrable._registry, MatrixAttention, registry)
        monkeypatch.delitem(sys.modules, "my_parts", raising=False)
        (block,) = code_blocks(EXTENDING, "python")
        (in_a_copy / "my_parts.py").write_text(block.text)
        run_page(EXTENDING, monkeypatch)
        config = json.loads((in_a_copy / "runs" / "mine" / "config.json").read_text())
        assert config["model"]["attention"]["similarity"] == {"type": "negative_distance"}
