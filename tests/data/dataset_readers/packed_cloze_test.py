import os
import re
import zipfile
from pathlib import Path
from typing import Callable, Dict, Iterator, List, Tuple

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import packed_cloze
from bidaf_plugin.data.dataset_readers.cloze_question import RawQuestion
from bidaf_plugin.data.dataset_readers.packed_cloze import is_packed, read_packed, write_packed

CONTENTS = [(f"id-{number}", b"\xc3\xa9\r\n" * 3 * number) for number in range(20)]


def write(path: Path) -> Path:
    assert write_packed(str(path), (RawQuestion("", *content) for content in CONTENTS)) == 20
    return path


@pytest.fixture
def packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(packed_cloze, "BLOCK_SIZE", 200)
    return write(tmp_path / "packed")


def read(path: Path, first: int = 0, end: int = 1 << 60) -> List[Tuple[str, bytes]]:
    return [(one.id, one.content) for one in read_packed(str(path), lambda _: (first, end))]


def rewrite(path: Path, change: Callable[[Dict[str, bytes]], bytes]) -> None:
    """The zip file with other members; gives it the comment that `change` returns."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
        members[""] = archive.comment
    comment = change(members)
    del members[""]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
        archive.comment = comment


class TestReadPacked:
    def test_any_stretch_can_be_read(self, packed: Path) -> None:
        assert is_packed(str(packed))
        with zipfile.ZipFile(packed) as archive:
            assert len(archive.namelist()) > 5
        for first in range(21):
            for end in range(first, 21):
                assert read(packed, first, end) == CONTENTS[first:end]

    def test_it_is_told_how_many_there_are(self, packed: Path) -> None:
        (last,) = read_packed(str(packed), lambda num_questions: (num_questions - 1, num_questions))
        assert last == (f"{packed}, id-19", *CONTENTS[-1])

    def test_only_the_blocks_of_a_stretch_are_read(
        self, packed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opened: List[str] = []
        read_member = zipfile.ZipFile.read

        def read_and_note(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
            opened.append(member.filename)
            return read_member(archive, member)

        monkeypatch.setattr(zipfile.ZipFile, "read", read_and_note)
        read(packed, 19, 20)
        assert [int(name) for name in opened] == [19]

    def test_a_file_cut_anywhere_is_noticed(self, packed: Path) -> None:
        whole = packed.read_bytes()
        for length in range(8, len(whole), 7):
            packed.write_bytes(whole[:length])
            assert is_packed(str(packed))
            with pytest.raises(DataError, match="packed: .*(truncated|not a whole one)"):
                read(packed)

    def test_a_changed_byte_anywhere_does_no_harm_or_is_noticed(self, packed: Path) -> None:
        """Some say nothing about the questions: the time of a member, or the system that made it."""
        whole = packed.read_bytes()
        num_noticed = 0
        for index in range(len(whole)):
            for bit in (1, 4, 128):
                changed = bytes([whole[index] ^ bit])
                packed.write_bytes(whole[:index] + changed + whole[index + 1 :])
                try:
                    assert read(packed) == CONTENTS
                except DataError as error:
                    assert re.search(r"packed: .*(damaged|again)", str(error))
                    num_noticed += 1
        assert num_noticed > 1.5 * len(whole)

    def test_a_damaged_block_stops_reading(self, packed: Path) -> None:
        with zipfile.ZipFile(packed) as archive:
            starts = [int(name) for name in archive.namelist()]
            second = archive.infolist()[1]
        content = bytearray(packed.read_bytes())
        content[second.header_offset + 30 + len(second.filename) + 5] ^= 1
        packed.write_bytes(content)
        first, end = starts[1:3]
        with pytest.raises(
            DataError, match=f"packed: .*damaged after {first} qu.* in its block 1: "
        ):
            read(packed)
        # Who reads another stretch does not meet it.
        assert read(packed, 0, first) == CONTENTS[:first]
        assert read(packed, end, 20) == CONTENTS[end:]

    def test_a_block_cannot_ask_for_all_memory(
        self, packed: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(packed_cloze, "_MAX_BLOCK_SIZE", 100)
        with pytest.raises(DataError, match="in its block 0: .* bytes of type 8 are no block"):
            read(packed)

    @pytest.mark.parametrize("num_questions", [b"0", b"1", b"19", b"21", b"999999999999999"])
    def test_a_wrong_number_of_questions_is_noticed(
        self, packed: Path, num_questions: bytes
    ) -> None:
        rewrite(packed, lambda members: members[""].replace(b"20", num_questions))
        with pytest.raises(DataError, match="packed: the packed file is .*damaged"):
            read(packed)

    @pytest.mark.parametrize("name", ["000000000000", "x", "-1", "٣", "000000000003", "9" * 30])
    def test_blocks_that_are_not_numbered_are_noticed(self, packed: Path, name: str) -> None:
        def rename(members: Dict[str, bytes]) -> bytes:
            members[name] = members.pop(next(iter(members)))
            return members[""]

        rewrite(packed, rename)
        with pytest.raises(DataError, match="packed: the packed file is .*damaged"):
            read(packed)

    @pytest.mark.parametrize(
        "line", [b"", b"7", b"{}", b'["id"]', b'["id", 7]', b"[" * 100_000, b'["id", "\\ud800"]']
    )
    def test_lines_that_are_no_questions_are_noticed(self, packed: Path, line: bytes) -> None:
        def replace_first(members: Dict[str, bytes]) -> bytes:
            name = next(iter(members))
            members[name] = b"\n".join([line, *members[name].splitlines()[1:]])
            return members[""]

        rewrite(packed, replace_first)
        with pytest.raises(
            DataError, match="packed: .*damaged after 0 questions, in its block 0: "
        ):
            read(packed)

    def test_other_formats_are_refused(self, packed: Path) -> None:
        rewrite(packed, lambda members: members[""].replace(b"format 2", b"format 3"))
        for _ in range(2):
            with pytest.raises(
                DataError, match="packed: a zip file, but not a whole .*: pack the qu"
            ):
                read(packed)
            # Nor anybody else's.
            with zipfile.ZipFile(packed, "w") as archive:
                archive.writestr("1.question", "")
        packed.write_bytes(b"BiDAFclz" + bytes(100))
        with pytest.raises(
            DataError, match="packed: .* format of an earlier version: pack it again"
        ):
            is_packed(str(packed))


class TestWritePacked:
    def test_equal_questions_become_equal_files(self, packed: Path, tmp_path: Path) -> None:
        assert write(tmp_path / "again").read_bytes() == packed.read_bytes()

    def test_ids_may_be_no_text(self, tmp_path: Path) -> None:
        # Names of files are bytes to Linux.
        question = RawQuestion("", os.fsdecode(b"\xff\n"), b"")
        write_packed(str(tmp_path / "packed"), [question])
        assert read(tmp_path / "packed") == [(question.id, b"")]

    def test_the_file_is_whole_or_not_there(self, packed: Path, tmp_path: Path) -> None:
        def fail() -> Iterator[RawQuestion]:
            yield RawQuestion("", *CONTENTS[0])
            raise KeyError

        for path in (packed, tmp_path / "other"):
            with pytest.raises(KeyError):
                write_packed(str(path), fail())
        assert os.listdir(tmp_path) == ["packed"]
        assert read(packed) == CONTENTS

    def test_the_result_is_verified(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        close = zipfile.ZipFile.close

        def close_and_damage(archive: zipfile.ZipFile) -> None:
            is_written = archive.mode == "w" and archive.fp is not None
            close(archive)
            if is_written:
                assert archive.filename is not None
                with open(archive.filename, "r+b") as file:
                    file.seek(60)
                    file.write(b"?")

        monkeypatch.setattr(zipfile.ZipFile, "close", close_and_damage)
        with pytest.raises(
            DataError, match="packed: the packed file does not hold what was packed"
        ):
            write(tmp_path / "packed")
        assert not os.listdir(tmp_path)
