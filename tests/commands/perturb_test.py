from pathlib import Path

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.perturbations import perturb
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from tests.commands.helpers import run_action
from tests.helpers import SAMPLE_V2, TINY_SQUAD


class TestPerturb:
    @pytest.mark.parametrize("data", [TINY_SQUAD, SAMPLE_V2])
    def test_the_file_has_what_was_changed(self, data: Path, tmp_path: Path) -> None:
        out = tmp_path / "joined.json"
        run_action("perturb", data, "joined", "-o", out, "--seed", 3)
        written, expected = (
            [(item.passage, item.questions) for item in paragraphs]
            for paragraphs in (read_squad_json(out), perturb(read_squad_json(data), "joined", 3))
        )
        assert written == expected

    def test_some_of_the_questions(self, tmp_path: Path) -> None:
        out = tmp_path / "few.json.gz"
        run_action("perturb", TINY_SQUAD, "unchanged", "-o", out, "--questions", 2)
        assert sum(len(item.questions) for item in read_squad_json(out)) == 2

    def test_bad_input(self, tmp_path: Path) -> None:
        out = tmp_path / "out.json"
        with pytest.raises(DataError, match="no perturbation 'magic'; known are"):
            run_action("perturb", TINY_SQUAD, "magic", "-o", out)
        with pytest.raises(DataError, match="1 or more, not 0"):
            run_action("perturb", TINY_SQUAD, "joined", "-o", out, "--questions", 0)
        assert not out.exists()
