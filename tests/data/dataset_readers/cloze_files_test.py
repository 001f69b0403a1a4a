import os
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from bidaf_plugin.commands.pack_cloze import pack
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import cloze_files
from bidaf_plugin.data.dataset_readers.cloze_files import Shard, iterate_questions
from bidaf_plugin.data.dataset_readers.cloze_question import BadQuestions
from tests.cloze_helpers import STRICT, ids, numbered, write_folder
from tests.helpers import REAL_DATA, needs_real_data


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

    def test_a_pipe_or_a_huge_file_is_named_or_counted(
        self, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        os.mkfifo(folder / "q0007.question")
        with pytest.raises(DataError, match="q0007.question: is not a file"):
            ids(folder)
        (folder / "q0008.question").write_bytes(b"x" * 2000)
        monkeypatch.setattr(cloze_files, "MAX_QUESTION_SIZE", 1000)
        bad = BadQuestions(skip=True)
        assert len(list(iterate_questions(str(folder), bad))) == 7
        assert bad.counts == {"unreadable": 1, "too large": 1}

    def test_a_single_file(self, folder: Path) -> None:
        assert ids(folder / "q0002.question") == ["q0002"]
        assert ids(folder / "q0002.question", Shard(1, 2)) == []

    def test_a_single_file_that_was_downloaded(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # It is kept under a name that says nothing.
        downloaded = tmp_path / "1f2e3d"
        (folder / "q0002.question").rename(downloaded)
        monkeypatch.setattr(cloze_files, "cached_path", lambda path: downloaded)
        url = "http://localhost/data/q0002.question"
        assert ids(url) == [cloze_files.read_question_file(url).id] == ["q0002"]

    def test_an_unknown_kind_of_address(self) -> None:
        with pytest.raises(DataError, match="foo://x: there is no such file or folder"):
            ids("foo://x")

    def test_what_is_no_archive_is_told_in_one_line(self, tmp_path: Path) -> None:
        (tmp_path / "noise").write_bytes(bytes(range(256)) * 12)
        with pytest.raises(DataError, match="noise: neither a folder, nor a tar") as raised:
            ids(tmp_path / "noise")
        assert "\n" not in str(raised.value)

    def test_only_archives_have_folders_behind_an_exclamation_mark(
        self, folder: Path, tmp_path: Path
    ) -> None:
        packed = tmp_path / "packed"
        pack(str(folder), str(packed))
        for path in (folder, packed, folder / "q0002.question"):
            with pytest.raises(DataError, match="!test: neither a folder"):
                ids(f"{path}!test")


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
