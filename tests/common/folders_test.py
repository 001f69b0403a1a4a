import time
from multiprocessing import Process
from pathlib import Path

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written, check_folder, used_alone
from tests.disk_helpers import READ_ONLY, nearly_full_disk


class TestFolders:
    def test_check_can_be_written(self, tmp_path: Path) -> None:
        check_can_be_written(tmp_path / "new.json")
        with pytest.raises(DataError, match="there is no such folder"):
            check_can_be_written(tmp_path / "no" / "new.json")
        with pytest.raises(DataError, match="this is a folder"):
            check_can_be_written(tmp_path)
        # It cannot be known of these.
        check_can_be_written("/dev/full")
        assert not list(tmp_path.iterdir())

    def test_check_folder(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        for path in (None, str(tmp_path), str(tmp_path / "new")):
            check_folder(path)
        with pytest.raises(DataError, match="file: this is a file, not a folder"):
            check_folder(str(tmp_path / "file"))
        with pytest.raises(DataError, match="file: this is a file, not a folder"):
            check_folder(str(tmp_path / "file" / "new" / "folder"))

    def test_a_relative_folder_that_is_not_there_yet(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        check_folder("new/folder/")
        assert not list(tmp_path.iterdir())

    def test_read_only_folders_and_full_disks(self, tmp_path: Path) -> None:
        for check in (check_folder, check_can_be_written):
            with pytest.raises(DataError, match=f"^{READ_ONLY}/new: cannot be written: "):
                check(f"{READ_ONLY}/new")
            with pytest.raises(DataError, match="new: cannot be written: "), nearly_full_disk(100):
                check(str(tmp_path / "new"))
        assert not list(tmp_path.iterdir())


def hold(path: Path, seconds: float) -> None:
    """Works on a folder in a process of its own."""
    with used_alone(str(path)):
        path.touch()
        time.sleep(seconds)


class TestUsedAlone:
    def test_by_one_process_until_it_ends_however_it_does(self, tmp_path: Path) -> None:
        folder = tmp_path / "folder"
        process = Process(target=hold, args=(folder, 100))
        process.start()
        while not folder.exists():
            time.sleep(0.05)
        with pytest.raises(DataError, match="another process is at work on it"), used_alone(
            str(folder)
        ):
            pass
        process.kill()
        process.join()
        with used_alone(str(folder)):
            pass
        assert [path.name for path in tmp_path.iterdir()] == ["folder"]
