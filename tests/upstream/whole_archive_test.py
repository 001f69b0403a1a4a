import tarfile
from pathlib import Path
from shutil import copytree

import pytest
from allennlp.commands import train
from allennlp.models import archival

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream import apply_upstream_fixes
from tests.disk_helpers import nearly_full_disk


class TestWholeArchives:
    def test_a_full_disk_leaves_no_part_of_an_archive(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        run = tmp_path / "run"
        copytree(tiny_archive.parent, run)
        (run / "model.tar.gz").unlink()
        with pytest.raises(OSError, match="File too large") as raised, nearly_full_disk(5000):
            train.archive_model(run)
        assert raised.value.filename == str(run / "model.tar.gz")
        assert not list(run.glob("model.tar.gz*"))

    def test_an_archive_goes_where_it_should(self, tiny_archive: Path, tmp_path: Path) -> None:
        run = tiny_archive.parent
        for archive_path in (tmp_path, tmp_path / "named.tar.gz"):
            written = archival.archive_model(run, archive_path=archive_path)
            with tarfile.open(written) as archive:
                assert {"config.json", "weights.th"} <= set(archive.getnames())
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "model.tar.gz",
            "named.tar.gz",
        ]

    def test_missing_weights_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=f"{tmp_path}: there is no file 'best.th'"):
            archival.archive_model(tmp_path, "best.th")
        assert not list(tmp_path.iterdir())

    def test_is_installed_once(self) -> None:
        archive_model = archival.archive_model
        apply_upstream_fixes()
        assert archival.archive_model is archive_model is train.archive_model
