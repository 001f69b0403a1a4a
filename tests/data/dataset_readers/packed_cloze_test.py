import fcntl
import json
import struct
from pathlib import Path
from typing import Any, BinaryIO, Dict, List, Tuple, Union

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import packed_cloze, packed_cloze_writer
from bidaf_plugin.data.dataset_readers.packed_cloze import PackedCloze, is_packed
from bidaf_plugin.data.dataset_readers.packed_cloze_writer import PackedClozeWriter

RECORDS: List[Tuple[str, bytes]] = [(f"id-{n}", bytes([n]) * 10 * n) for n in range(20)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_cloze_writer, "BLOCK_SIZE", 200)


def write(path: Path, records: List[Tuple[str, bytes]], source: str = "source") -> None:
    with PackedClozeWriter(str(path), source) as writer:
        for id, content in records:
            if not writer.is_packed(id):
                writer.add(id, content)
        writer.finish()


def contents(packed: PackedCloze, first: int, end: int) -> List[Tuple[str, bytes]]:
    return [(question.id, question.content) for question in packed.read(first, end)]


class TestPackedCloze:
    def test_any_stretch_can_be_read(self, tmp_path: Path) -> None:
        path = tmp_path / "packed"
        write(path, RECORDS)
        assert is_packed(str(path))
        assert not (tmp_path / "packed.partial").exists()
        packed = PackedCloze(str(path))
        assert packed.num_questions == 20
        assert packed.num_blocks > 5
        for first in range(21):
            for end in range(first, 21):
                assert contents(packed, first, end) == RECORDS[first:end]

    def test_only_the_blocks_of_a_stretch_are_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "packed"
        write(path, RECORDS)
        packed = PackedCloze(str(path))
        places: List[int] = []
        read_block = packed_cloze.read_block

        def read_and_note(file: BinaryIO) -> List[Tuple[str, bytes]]:
            places.append(file.tell())
            return read_block(file)

        monkeypatch.setattr(packed_cloze, "read_block", read_and_note)
        contents(packed, 19, 20)
        assert places == packed._block_places[-1:]

    def test_a_file_cut_anywhere_is_noticed(self, tmp_path: Path) -> None:
        path = tmp_path / "packed"
        write(path, RECORDS)
        whole = path.read_bytes()
        for length in range(8, len(whole), 7):
            path.write_bytes(whole[:length])
            with pytest.raises(DataError, match="packed: the packed file is truncated"):
                PackedCloze(str(path))

    def test_a_changed_byte_anywhere_is_noticed(self, tmp_path: Path) -> None:
        path = tmp_path / "packed"
        write(path, RECORDS)
        whole = path.read_bytes()
        for place in range(packed_cloze.HEAD.size, len(whole)):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
            with pytest.raises(DataError, match="packed: .*(damaged|version)"):
                PackedCloze(str(path)).verify()

    def test_a_damaged_block_stops_reading(self, tmp_path: Path) -> None:
        path = tmp_path / "packed"
        write(path, RECORDS)
        packed = PackedCloze(str(path))
        content = bytearray(path.read_bytes())
        content[packed._block_places[1] + packed_cloze.BLOCK_HEAD.size] ^= 1
        path.write_bytes(content)
        first, end = packed._questions_before[1:3]
        message = (
            f"packed: .*damaged after {first} questions, in its block 1: its checksum is wrong"
        )
        with pytest.raises(DataError, match=message):
            contents(packed, 0, 20)
        # Who reads another part does not meet it.
        assert contents(packed, 0, first) == RECORDS[:first]
        assert contents(packed, end, 20) == RECORDS[end:]

    # To zlib, 0 is no limit at all.
    @pytest.mark.parametrize("length", [0xFFFFFFFF, 0])
    def test_a_block_cannot_ask_for_all_memory(self, tmp_path: Path, length: int) -> None:
        path = tmp_path / "packed"
        write(path, RECORDS)
        packed = PackedCloze(str(path))
        content = bytearray(path.read_bytes())
        struct.pack_into("<I", content, packed._block_places[0] + 8, length)
        path.write_bytes(content)
        with pytest.raises(DataError, match="head is damaged"):
            contents(packed, 0, 1)

    @pytest.mark.parametrize(
        "change",
        [
            {"num_questions": "20"},
            {"num_questions": -1},
            {"num_questions": 1 << 70},
            {"block_places": 7},
            {"block_places": []},
            {"questions_before": [None]},
            {"block_places": [], "questions_before": []},
            {"block_places": [16, 16], "questions_before": [3, 0]},
            {"block_places": [16], "questions_before": [3]},
            {"num_questions": 0},
            {"num_questions": 1},
            {"block_places": [16, 16], "questions_before": [0, 1]},
            {"block_places": [17], "questions_before": [0]},
            {"block_places": [16, 1 << 40], "questions_before": [0, 5]},
            "[]",
            "7",
            "{}",
            "[" * 100_000,
        ],
    )
    def test_an_index_that_is_none(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Union[str, Dict[str, Any]]
    ) -> None:
        """Somebody may have made a checksum for it. What is text stands for the whole index."""
        dumps = json.dumps

        def dump_changed(index: Dict[str, Any]) -> str:
            return change if isinstance(change, str) else dumps({**index, **change})

        monkeypatch.setattr(json, "dumps", dump_changed)
        monkeypatch.setattr(packed_cloze_writer.PackedCloze, "__init__", lambda self, path: None)
        monkeypatch.setattr(packed_cloze_writer.PackedCloze, "verify", lambda self: None)
        write(tmp_path / "packed", RECORDS)
        monkeypatch.undo()
        with pytest.raises(DataError, match="packed: .*damaged at its end"):
            PackedCloze(str(tmp_path / "packed"))

    @pytest.mark.parametrize(
        "change",
        [
            # One question of a block, and not the others; the first block, and not those behind it.
            {"block_places": [16], "questions_before": [0], "num_questions": 1},
            {"block_places": [16], "questions_before": [0]},
            {"num_questions": 21},
        ],
    )
    def test_an_index_that_hides_questions(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Dict[str, Any]
    ) -> None:
        dumps = json.dumps
        with monkeypatch.context() as patched:
            patched.setattr(json, "dumps", lambda index: dumps({**index, **change}))
            patched.setattr(PackedCloze, "verify", lambda self: None)
            write(tmp_path / "packed", RECORDS)
        packed = PackedCloze(str(tmp_path / "packed"))
        with pytest.raises(DataError, match="packed: .*the index says otherwise where it ends"):
            contents(packed, 0, packed.num_questions)

    def test_other_versions_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(packed_cloze_writer, "VERSION", 2)
        monkeypatch.setattr(PackedCloze, "verify", lambda self: None)
        monkeypatch.setattr(packed_cloze, "VERSION", 2)
        write(tmp_path / "packed", RECORDS)
        monkeypatch.setattr(packed_cloze, "VERSION", 1)
        with pytest.raises(DataError, match="version 2 .* version 1"):
            PackedCloze(str(tmp_path / "packed"))


class TestPackedClozeWriter:
    @pytest.mark.parametrize("cut", [0, 5, 16, 17, 60, 200, 333, 10_000])
    def test_goes_on_after_an_interruption(self, tmp_path: Path, cut: int) -> None:
        whole, again = tmp_path / "whole", tmp_path / "again"
        write(whole, RECORDS)
        with PackedClozeWriter(str(again), "source") as writer:
            for id, content in RECORDS[:15]:
                writer.add(id, content)
        partial = tmp_path / "again.partial"
        partial.write_bytes(partial.read_bytes()[:cut])
        assert not again.exists()

        with PackedClozeWriter(str(again), "source") as writer:
            num_resumed = writer.num_resumed
            assert [writer.is_packed(id) for id, _ in RECORDS] == [
                number < num_resumed for number in range(20)
            ]
        assert (num_resumed > 0) == (cut > 100)
        write(again, RECORDS)
        assert again.read_bytes() == whole.read_bytes()

    def test_what_was_begun_with_another_source_is_refused(self, tmp_path: Path) -> None:
        with PackedClozeWriter(str(tmp_path / "packed"), "one"):
            pass
        with pytest.raises(DataError, match="packed.partial was begun with another source"):
            PackedClozeWriter(str(tmp_path / "packed"), "two")

    def test_a_failure_before_the_first_question_leaves_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError), PackedClozeWriter(str(tmp_path / "packed"), "one"):
            raise KeyError
        assert not list(tmp_path.iterdir())

    def test_two_writers_do_not_disturb_each_other(self, tmp_path: Path) -> None:
        with (
            PackedClozeWriter(str(tmp_path / "packed"), "one"),
            pytest.raises(DataError, match="another process is writing"),
        ):
            PackedClozeWriter(str(tmp_path / "packed"), "one")

    def test_what_another_process_finishes_meanwhile_stays_whole(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "packed"
        flock = fcntl.flock

        def finish_before_the_lock(file: BinaryIO, operation: int) -> None:
            monkeypatch.undo()
            write(path, RECORDS)
            flock(file, operation)

        monkeypatch.setattr(fcntl, "flock", finish_before_the_lock)
        with PackedClozeWriter(str(path), "source") as writer:
            assert writer.num_resumed == 0
            assert contents(PackedCloze(str(path)), 0, 20) == RECORDS

    def test_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="packed.partial: No such file"):
            PackedClozeWriter(str(tmp_path / "no" / "packed"), "source")
