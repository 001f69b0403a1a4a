import csv
from pathlib import Path

import pytest

from bidaf_plugin.common.errors import DataError
from tests.commands.helpers import run_action
from tests.helpers import TINY_SQUAD


class TestNeighbors:
    def test_table_and_files(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["--words", "the, orchard", "-k", "3"]
        run_action("neighbors", tiny_archive, TINY_SQUAD, *words, "-o", tmp_path)
        table = capsys.readouterr().out
        assert table == (tmp_path / "neighbors.md").read_text()
        assert table.count("\n") == 2 + 2 * 2
        with open(tmp_path / "neighbors.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * 2 * 3
        assert (rows[6]["space"], rows[6]["query"], rows[6]["word"]) == (
            "word",
            "orchard",
            "orchard",
        )

    def test_bad_arguments(self, tiny_archive: Path) -> None:
        with pytest.raises(DataError, match="-k must be 1 or more"):
            run_action("neighbors", tiny_archive, TINY_SQUAD, "-k", "0")
        with pytest.raises(DataError, match="--words is ' , '"):
            run_action("neighbors", tiny_archive, TINY_SQUAD, "--words", " , ")
        with pytest.raises(DataError, match="'When'|'Where'"):
            run_action("neighbors", tiny_archive, TINY_SQUAD)


class TestTsne:
    def test_picture_and_points(self, tiny_archive: Path, tmp_path: Path) -> None:
        words = ["--words", "the,its", "--others", "15"]
        run_action("tsne", tiny_archive, TINY_SQUAD, *words, "-o", tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "tsne.csv",
            "tsne.png",
            "tsne.svg",
        ]
        assert (tmp_path / "tsne.csv").read_text().startswith("space,word,x,y,context\n")

    def test_bad_arguments(self, tiny_archive: Path, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="none of the words January, February"):
            run_action("tsne", tiny_archive, TINY_SQUAD, "-o", tmp_path)
        with pytest.raises(DataError, match="--others and --seed 0 or more"):
            run_action("tsne", tiny_archive, TINY_SQUAD, "-o", tmp_path, "--others", "-1")
