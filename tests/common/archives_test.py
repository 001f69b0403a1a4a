import io
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest
from allennlp.models import archival, load_archive

from bidaf_plugin.common.archives import extracted_archive
from bidaf_plugin.common.errors import DataError


def make_archive(path: Path, name: str, **settings: Any) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = 0 if settings else 2
        for key, value in settings.items():
            setattr(member, key, value)
        archive.addfile(member, io.BytesIO(b"hi"))
    return path


class TestExtractedArchive:
    def test_is_what_allennlp_uses(self) -> None:
        assert archival.extracted_archive is extracted_archive

    def test_extracts_files_in_folders_and_cleans_up(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path / "a.tar.gz", "some/folder/file")
        with extracted_archive(archive) as folder:
            assert (Path(folder) / "some" / "folder" / "file").read_bytes() == b"hi"
        assert not os.path.exists(folder)
        with extracted_archive(archive, cleanup=False) as folder:
            pass
        assert os.path.exists(folder)

    @pytest.mark.parametrize(
        "name, settings",
        [
            ("../evil", {}),
            ("a/../../evil", {}),
            ("/tmp/evil-absolute", {}),
            ("link", {"type": tarfile.SYMTYPE, "linkname": "/etc"}),
            ("link", {"type": tarfile.LNKTYPE, "linkname": "../x"}),
            ("pipe", {"type": tarfile.FIFOTYPE}),
        ],
    )
    def test_nothing_leads_out(self, tmp_path: Path, name: str, settings: Any) -> None:
        archive = make_archive(tmp_path / "a.tar.gz", name, **settings)
        with pytest.raises(DataError, match="leads out of the archive"):
            load_archive(archive)
        assert not os.path.exists("/tmp/evil-absolute")
