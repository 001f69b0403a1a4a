from pathlib import Path

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written, check_folder


class TestFolders:
    def test_check_can_be_written(self, tmp_path: Path) -> None:
        check_can_be_written(tmp_path / "new.json")
        with pytest.raises(DataError, match="there is no such folder"):
            check_can_be_written(tmp_path / "no" / "new.json")
        with pytest.raises(DataError, match="this is a folder"):
            check_can_be_written(tmp_path)

    def test_check_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for path in (None, str(tmp_path), str(tmp_path / "new")):
            check_folder(path)
        with pytest.raises(DataError, match="file: this is a file, not a folder"):
            check_folder(str(tmp_path / "file"))
