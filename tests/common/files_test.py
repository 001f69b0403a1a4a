import io
import os
from pathlib import Path

import pytest

from bidaf_plugin.common.files import (
    chunks_of_file,
    chunks_of_stream,
    open_atomically,
    read_json,
    write_atomically,
)
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


class TestChunksOfFile:
    def test_chunks_end_at_either_limit(self) -> None:
        lines = [b"a\n", b"b\n", b"c\n", b"dddddddd\n", b"e"]
        assert list(chunks_of_file(lines, 2, 100)) == [lines[:2], lines[2:4], lines[4:]]
        assert list(chunks_of_file(lines, 100, 8)) == [lines[:4], lines[4:]]
        assert list(chunks_of_file([], 2, 100)) == []


class TestChunksOfStream:
    def test_lines_are_not_kept_waiting_for_others(self) -> None:
        read_end, write_end = os.pipe()
        with open(read_end, "rb") as stream:
            chunks = chunks_of_stream(stream, 100, 10_000)
            os.write(write_end, b"one\n")
            assert next(chunks) == [b"one"]
            # The pipe is still open. Half a line waits for its other half.
            os.write(write_end, b"two\n\nthr")
            assert next(chunks) == [b"two", b""]
            os.write(write_end, b"ee\n")
            assert next(chunks) == [b"three"]
            os.write(write_end, b"four\nfive")
            os.close(write_end)
            assert sum(chunks, []) == [b"four", b"five"]

    def test_lines_that_are_there_come_together(self) -> None:
        read_end, write_end = os.pipe()
        os.write(write_end, b"line\n" * 1_000)
        os.close(write_end)
        with open(read_end, "rb") as stream:
            assert [len(chunk) for chunk in chunks_of_stream(stream, 2_000, 10**6)] == [1_000]

    def test_a_file_comes_in_bounded_chunks(self, tmp_path: Path) -> None:
        path = tmp_path / "lines"
        lines = [b"%d" % number for number in range(50_000)] + [b"x" * 200_000]
        path.write_bytes(b"\n".join(lines))
        with path.open("rb") as stream:
            chunks = list(chunks_of_stream(stream, 10_000, 10**6))
        assert sum(chunks, []) == lines
        assert len(chunks) > 3

    @pytest.mark.parametrize("content", [b"", b"\n", b"a\r\nb", b"a\n\n"])
    def test_streams_that_cannot_be_asked(self, content: bytes) -> None:
        lines = [line.rstrip(b"\n") for line in io.BytesIO(content)]
        assert sum(chunks_of_stream(io.BytesIO(content), 10, 10), []) == lines


class TestReadJson:
    def test_gives_what_json_holds(self) -> None:
        text = '{"a": [1, -2.5e3, 1e-999, null, true], "b": "NaN"}'
        assert read_json(text) == {"a": [1, -2500.0, 0.0, None, True], "b": "NaN"}
        assert read_json('{"a": {"b": 1}}', object_pairs_hook=len) == 1

    @pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999", "-1.5e400"])
    def test_refuses_numbers_that_nothing_else_can_read(self, number: str) -> None:
        with pytest.raises(ValueError, match=f"there are no numbers like {number}"):
            read_json(f'{{"id": [{number}]}}')
