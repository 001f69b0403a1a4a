from pathlib import Path

import pytest

from bidaf_plugin.common.files import open_atomically, write_atomically
from tests.disk_helpers import READ_ONLY, nearly_full_disk


class TestFiles:
    def test_a_full_disk_leaves_the_old_file_and_no_other(self, tmp_path: Path) -> None:
        path = tmp_path / "old.txt"
        path.write_text("old")
        with pytest.raises(OSError) as raised, nearly_full_disk(10_000):
            write_atomically(str(path), "new" * 10_000)
        # The name that people know, which is not that of the file that was written first.
        assert raised.value.filename == str(path)
        assert [item.name for item in tmp_path.iterdir()] == ["old.txt"]
        assert path.read_text() == "old"

    def test_a_read_only_folder_and_a_full_device_are_named(self) -> None:
        for path in (f"{READ_ONLY}/new.txt", "/dev/full"):
            with pytest.raises(OSError) as raised:
                write_atomically(path, "new")
            assert raised.value.filename == path

    def test_an_error_of_another_file_keeps_its_name(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError) as raised, open_atomically(str(tmp_path / "new")):
            (tmp_path / "missing").read_text()
        assert raised.value.filename == str(tmp_path / "missing")
        assert not list(tmp_path.iterdir())
