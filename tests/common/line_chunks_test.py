import io
import os
from pathlib import Path

import pytest

from bidaf_plugin.common.line_chunks import chunks_of_file, chunks_of_stream


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
