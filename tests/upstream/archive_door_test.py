import os
import tarfile
from pathlib import Path
from typing import Any, Dict

import pytest
from allennlp.commands import predict
from allennlp.models import archival, load_archive

from bidaf_plugin.archives import load_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream.archive_door import extracted_archive, install_archive_door
from tests.archives.helpers import add


class TestExtractedArchive:
    def test_is_what_allennlp_uses(self) -> None:
        assert archival.extracted_archive is extracted_archive

    def test_is_installed_once(self) -> None:
        add_subparser = predict.Predict.add_subparser
        install_archive_door()
        assert predict.Predict.add_subparser is add_subparser

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
