import gzip
import os
import tarfile
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from bidaf_plugin.commands.pack_cloze import pack
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.dataset_readers import cloze_files
from bidaf_plugin.dataset_readers.bad_questions import BadQuestions
from bidaf_plugin.dataset_readers.cloze_files import Shard, iterate_questions
from tests.cloze_helpers import write_folder, write_tar
from tests.helpers import REAL_DATA, needs_real_data

STRICT = BadQuestions(skip=False)


def ids(path: Any, *arguments: Any) -> List[str]:
    return [question.id for question in iterate_questions(str(path), STRICT, *arguments)]


def numbered(count: int) -> List[str]:
    return [f"q{number:04}" for number in range(count)]


def noting(paths: List[str], function: Callable[[str], Any]) -> Callable[[str], Any]:
    """The function, which also notes what it is called with."""

    def note_and_call(path: str) -> Any:
        paths.append(path)
        return function(path)

    return note_and_call


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "questions", 7, {"README": "", "._q0000.question": "shadow"})


class TestIterateQuestions:
    def test_a_folder_is_read_in_the_order_of_names(self, folder: Path) -> None:
        questions = list(iterate_questions(str(folder), STRICT))
        assert [question.id for question in questions] == numbered(7)
        assert questions[3].place == str(folder / "q0003.question")
        assert questions[3].content == (folder / "q0003.question").read_bytes()

    def test_a_large_folder_is_not_kept_in_memory(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(cloze_files, "MAX_SORTED", 3)
        assert sorted(ids(folder)) == numbered(7)
        shares = [ids(folder, Shard(number, 3)) for number in range(3)]
        assert sorted(id for share in shares for id in share) == numbered(7)
        # The first question is there before the folder is listed to its end.
        listed: List[str] = []
        scandir = os.scandir

        @contextmanager
        def scan_and_note(path: str) -> Iterator[Iterator[os.DirEntry]]:
            with scandir(path) as entries:
                yield (listed.append(entry.name) or entry for entry in entries)  # type: ignore

        monkeypatch.setattr(os, "scandir", scan_and_note)
        questions = iterate_questions(str(folder), STRICT)
        next(questions)
        # MAX_SORTED and one more, besides the two that are no questions.
        assert 3 + 1 <= len(listed) <= 3 + 1 + 2 < 7 + 2
        assert len(list(questions)) == 7 - 1

    def test_a_folder_is_listed_once(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        listed: List[str] = []
        monkeypatch.setattr(os, "scandir", noting(listed, os.scandir))
        monkeypatch.setattr(os, "listdir", None)
        list(iterate_questions(str(folder), STRICT))
        assert listed == [str(folder)]

    def test_shares_of_a_folder(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        opened: List[str] = []
        monkeypatch.setattr(cloze_files, "_read_file", noting(opened, cloze_files._read_file))
        assert ids(folder, Shard(1, 3)) == ["q0001", "q0004"]
        assert len(opened) == 2

    def test_an_empty_folder(self, tmp_path: Path) -> None:
        (tmp_path / "training").mkdir()
        (tmp_path / "test").mkdir()
        with pytest.raises(DataError, match=r"no \.question files.*folders test, training"):
            ids(tmp_path)
        with pytest.raises(DataError, match=r"training: there are no \.question files in it$"):
            ids(tmp_path / "training")

    def test_a_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="no_such: there is no such file or folder"):
            ids(tmp_path / "no_such")

    def test_an_unreadable_file_is_named_or_counted(self, folder: Path) -> None:
        (folder / "q0003.question").unlink()
        (folder / "q0003.question").symlink_to(folder / "gone")
        with pytest.raises(DataError, match="q0003.question: No such file"):
            ids(folder)
        bad = BadQuestions(skip=True)
        assert len(list(iterate_questions(str(folder), bad))) == 6
        assert bad.counts == {"unreadable": 1}

    def test_a_single_file(self, folder: Path) -> None:
        assert ids(folder / "q0002.question") == ["q0002"]
        assert ids(folder / "q0002.question", Shard(1, 2)) == []

    def test_what_is_not_wanted_is_not_read(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        archive = write_tar(tmp_path / "archive", [f"x/{id}.question" for id in numbered(7)])
        packed = tmp_path / "packed"
        pack(str(folder), str(packed))
        opened: List[str] = []
        monkeypatch.setattr(cloze_files, "_read_file", noting(opened, cloze_files._read_file))
        for path in (folder, archive, packed):
            assert ids(path, Shard(1, 2), False, lambda id: id > "q0003") == (
                ["q0004", "q0005", "q0006"] if path == packed else ["q0005"]
            )
        assert opened == [str(folder / "q0005.question")]

    def test_only_archives_have_folders_behind_an_exclamation_mark(
        self, folder: Path, tmp_path: Path
    ) -> None:
        packed = tmp_path / "packed"
        pack(str(folder), str(packed))
        for path in (folder, packed, folder / "q0002.question"):
            with pytest.raises(DataError, match="!test: neither a folder"):
                ids(f"{path}!test")


class TestTar:
    @pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
    def test_archives(self, tmp_path: Path, mode: str) -> None:
        names = [f"./x/{id}.question" for id in numbered(5)] + ["x/README", "x/._q.question"]
        path = write_tar(tmp_path / "archive", names, mode)
        assert ids(path) == ids(f"{path}!./x") == ids(f"{path}!./") == numbered(5)
        assert ids(path, Shard(1, 2)) == ["q0001", "q0003"]
        (question,) = iterate_questions(str(path), STRICT, Shard(4, 5))
        assert question.place == f"{path}, x/q0004.question"

    def test_a_folder_of_an_archive(self, tmp_path: Path) -> None:
        names = ["a/training/1.question", "a/test/2.question", "a/test/more/3.question"]
        path = write_tar(tmp_path / "a.tar.gz", names)
        assert ids(f"{path}!a/test") == ["2", "more/3"]
        assert ids(f"{path}!a/training/") == ["1"]
        for folder in ("./a/test", "a/./test/", "/a//test"):
            assert ids(f"{path}!{folder}") == ["2", "more/3"]
        with pytest.raises(DataError, match=r"several folders.*a\.tar\.gz!a/test'"):
            ids(path)
        with pytest.raises(DataError, match=r"no \.question files below 'a/te'"):
            ids(f"{path}!a/te")

    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    @pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.5, 0.7, 0.9, 0.99])
    def test_truncated_archives_are_noticed(self, tmp_path: Path, mode: str, share: float) -> None:
        path = write_tar(tmp_path / "archive", [f"{id}.question" for id in numbered(40)], mode)
        content = path.read_bytes()
        if mode == "w":
            # Two blocks of zeros mark the end; what follows is padding.
            content = content.rstrip(b"\0")
        path.write_bytes(content[: int(share * len(content))])
        with pytest.raises(DataError, match="archive: "):
            ids(path)

    def test_an_archive_cut_between_two_members_is_noticed(self, tmp_path: Path) -> None:
        path = write_tar(tmp_path / "archive", [f"{id}.question" for id in numbered(4)], "w")
        with tarfile.open(path) as archive:
            cut = archive.getmembers()[2].offset
        path.write_bytes(path.read_bytes()[:cut])
        # Not even who skips bad questions goes on: an unknown number of good ones is missing.
        for skip in (False, True):
            with pytest.raises(DataError, match="archive: .*damaged after 2 questions.*end mark"):
                list(iterate_questions(str(path), BadQuestions(skip)))

    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    def test_a_damaged_member_is_noticed(self, tmp_path: Path, mode: str) -> None:
        path = write_tar(tmp_path / "archive", [f"{id}.question" for id in numbered(4)], "w")
        with tarfile.open(path) as archive:
            member = archive.getmembers()[2]
        content = bytearray(path.read_bytes())
        content[member.offset] ^= 1
        path.write_bytes(gzip.compress(content) if mode == "w:gz" else content)
        for skip in (False, True):
            with pytest.raises(DataError, match="damaged after 2 questions.*more behind"):
                list(iterate_questions(str(path), BadQuestions(skip)))

    def test_a_wrong_checksum_is_noticed(self, tmp_path: Path) -> None:
        path = write_tar(tmp_path / "archive", ["1.question"])
        content = bytearray(path.read_bytes())
        content[-8] ^= 1
        path.write_bytes(content)
        with pytest.raises(DataError, match="CRC"):
            ids(path)

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE])
    def test_links_are_named_or_counted(self, tmp_path: Path, kind: bytes) -> None:
        path = write_tar(tmp_path / "archive", ["x/1.question", "x/2.question"], "w")
        with tarfile.open(path, "a") as archive:
            for name in ("x/3.question", "x/README"):
                link = tarfile.TarInfo(name)
                link.type, link.linkname = kind, "x/1.question"
                archive.addfile(link)
        with pytest.raises(DataError, match=r"archive, x/3\.question: is a link"):
            ids(path)
        bad = BadQuestions(skip=True)
        assert [question.id for question in iterate_questions(str(path), bad)] == ["1", "2"]
        assert bad.counts == {"link in archive": 1}
        # Of several readers one counts it.
        assert ids(path, Shard(1, 3)) == ["2"]

    def test_neither_folder_nor_archive(self, tmp_path: Path) -> None:
        path = tmp_path / "text.gz"
        path.write_bytes(gzip.compress(b"no archive"))
        with pytest.raises(DataError, match="neither a folder"):
            ids(path)
        empty = write_tar(tmp_path / "empty.tar", [], "w")
        with pytest.raises(DataError, match=r"no \.question files"):
            ids(empty)

    def test_members_are_not_remembered(self, tmp_path: Path) -> None:
        path = write_tar(tmp_path / "archive", [f"{id}.question" for id in numbered(10)])
        with tarfile.open(path) as archive:
            assert len(list(cloze_files._members(archive))) == 10
            assert archive.members == []  # type: ignore[attr-defined]


class TestPacked:
    def test_shares_are_even_and_disjoint(self, tmp_path: Path) -> None:
        packed = tmp_path / "packed"
        pack(str(write_folder(tmp_path / "questions", 11)), str(packed))
        shares = [ids(packed, Shard(number, 4)) for number in range(4)]
        assert [len(share) for share in shares] == [3, 3, 3, 2]
        assert [id for share in shares for id in share] == numbered(11)

    def test_who_wants_the_first_ones_gets_them_dealt_out_like_files(self, tmp_path: Path) -> None:
        folder, packed = write_folder(tmp_path / "questions", 11), tmp_path / "packed"
        pack(str(folder), str(packed))
        for number in range(3):
            shard = Shard(number, 3)
            assert ids(packed, shard, True) == ids(folder, shard, True) == numbered(11)[number::3]


@needs_real_data
class TestRealData:
    @pytest.mark.parametrize(
        "path, count",
        [
            ("questions.tar.gz!cnn/questions/training", 5),
            ("questions.tar.gz!dailymail/questions/training", 129),
            ("questions.tar.gz!dailymail/questions/validation", 183),
            ("questions.tar.gz!dailymail/questions/test", 212),
            ("squad_cloze.tar.gz!squad_cloze/questions/training", 14_018),
            ("squad_cloze.tar.gz!squad_cloze/questions/validation", 932),
        ],
    )
    def test_all_questions_are_there(self, path: str, count: int) -> None:
        assert REAL_DATA is not None
        found = ids(REAL_DATA / "cloze" / path)
        assert len(found) == len(set(found)) == count
