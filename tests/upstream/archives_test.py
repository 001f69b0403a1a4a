import os
import tarfile
from pathlib import Path
from shutil import copytree
from typing import Any, Dict

import pytest
from allennlp.commands import train
from allennlp.models import archival, load_archive

from bidaf_plugin.archives import load_predictor
from bidaf_plugin.archives.load import extracted_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream import apply_upstream_fixes
from tests.archives.helpers import add
from tests.disk_helpers import nearly_full_disk


class TestExtractedArchive:
    def test_is_what_allennlp_uses(self) -> None:
        assert archival.extracted_archive is extracted_archive

    def test_extracts_files_in_folders_and_cleans_up(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            add(archive, "some/folder/file", b"hi")
        with extracted_archive(path) as folder:
            assert (Path(folder) / "some" / "folder" / "file").read_bytes() == b"hi"
        assert not os.path.exists(folder)
        with extracted_archive(path, cleanup=False) as folder:
            pass
        assert os.path.exists(folder)

    @pytest.mark.parametrize(
        "name, settings",
        [
            ("../evil", {}),
            ("a/../../evil", {}),
            ("/tmp/evil", {}),
            ("link", {"type": tarfile.SYMTYPE, "linkname": "/etc"}),
            ("link", {"type": tarfile.LNKTYPE, "linkname": "../x"}),
            ("pipe", {"type": tarfile.FIFOTYPE}),
        ],
    )
    def test_nothing_leads_out(self, tmp_path: Path, name: str, settings: Dict[str, Any]) -> None:
        path = tmp_path / "a.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            add(archive, name, b"", **settings)
        for load_one in (load_predictor, load_archive):
            with pytest.raises(DataError, match=f"{path}: .* leads out of the archive"):
                load_one(path)
        assert not list(tmp_path.rglob("evil"))


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
        assert sorted(path.name for path in tmp_path.iterdir()) == ["model.tar.gz", "named.tar.gz"]

    def test_missing_weights_are_named(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match=f"{tmp_path}: there is no file 'best.th'"):
            archival.archive_model(tmp_path, "best.th")
        assert not list(tmp_path.iterdir())

    def test_is_installed_once(self) -> None:
        archive_model = archival.archive_model
        apply_upstream_fixes()
        assert archival.archive_model is archive_model is train.archive_model
