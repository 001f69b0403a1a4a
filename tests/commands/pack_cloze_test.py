import argparse
import errno
import os
from pathlib import Path
from typing import Any

import pytest

from bidaf_plugin.commands import Action
from bidaf_plugin.commands.pack_cloze import pack
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import BidafClozeReader, cloze_files, packed_cloze
from tests.cloze_helpers import TINY_CLOZE, question_text, write_folder, write_tar


def run(*arguments: Any) -> None:
    action = Action.by_name("pack-cloze")()
    parser = argparse.ArgumentParser()
    action.add_arguments(parser)
    action.run(parser.parse_args([str(argument) for argument in arguments]))


class TestPackCloze:
    def test_the_reader_reads_the_same_from_it(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        out = tmp_path / "packed"
        run(TINY_CLOZE, out)
        assert "6 questions" in capsys.readouterr().out
        for from_folder, from_file in zip(
            BidafClozeReader().read(str(TINY_CLOZE)), BidafClozeReader().read(str(out)), strict=True
        ):
            assert from_folder["metadata"].metadata == from_file["metadata"].metadata
            assert from_folder["entity_ids"] == from_file["entity_ids"]

    def test_a_folder_of_an_archive(self, tmp_path: Path) -> None:
        path = write_tar(tmp_path / "a.tar.gz", ["a/1.question", "b/2.question", "b/3.question"])
        assert "2 questions" in pack(f"{path}!b", str(tmp_path / "packed"))

    def test_several_folders_of_an_archive_are_not_mixed(self, tmp_path: Path) -> None:
        names = [f"{folder}/{number}.question" for folder in "ab" for number in range(20)]
        path, out = write_tar(tmp_path / "a.tar.gz", names), tmp_path / "packed"
        with pytest.raises(DataError, match=r"several folders.*a\.tar\.gz!b'"):
            run(path, out)
        assert os.listdir(tmp_path) == ["a.tar.gz"]
        assert "20 questions" in pack(f"{path}!b", str(out))

    def test_an_existing_file_is_not_replaced(self, tmp_path: Path) -> None:
        out = tmp_path / "packed"
        out.write_text("precious")
        with pytest.raises(DataError, match="packed exists: use --force"):
            run(TINY_CLOZE, out)
        assert out.read_text() == "precious"
        run(TINY_CLOZE, out, "--force")
        assert len(list(BidafClozeReader().read(str(out)))) == 6

    def test_bad_questions_stop_or_are_counted(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        bad = {"bad1.question": "", "bad2.question": question_text(answer="Ada")}
        folder = write_folder(tmp_path / "questions", 5, bad)
        out = tmp_path / "packed"
        with pytest.raises(DataError, match="bad1.question: the article is missing"):
            run(folder, out)
        assert not out.exists()
        run(folder, out, "--skip-bad")
        summary = capsys.readouterr().out
        assert "5 questions" in summary and "2 questions skipped" in summary

    def test_questions_without_an_answer_can_be_packed(self, tmp_path: Path) -> None:
        unanswered = {"mine.question": question_text(answer="")}
        folder, out = write_folder(tmp_path / "questions", 1, unanswered), tmp_path / "packed"
        with pytest.raises(DataError, match="mine.question: the answer is missing"):
            run(folder, out)
        run(folder, out, "--without-answers")
        instances = list(BidafClozeReader(needs_answer=False).read(str(out)))
        assert [instance["metadata"]["answer"] for instance in instances] == [None, "@entity1"]

    def test_a_truncated_archive_stops_even_who_skips_bad_questions(self, tmp_path: Path) -> None:
        names = [f"{number}.question" for number in range(40)]
        path, out = write_tar(tmp_path / "a.tar.gz", names), tmp_path / "packed"
        path.write_bytes(path.read_bytes()[:-40])
        with pytest.raises(
            DataError, match=r"a\.tar\.gz: truncated or damaged after \d+ questions"
        ):
            run(path, out, "--skip-bad")
        assert not out.exists()

    def test_only_bad_questions_are_an_error(self, tmp_path: Path) -> None:
        folder, out = (
            write_folder(tmp_path / "questions", 0, {"bad.question": ""}),
            tmp_path / "packed",
        )
        with pytest.raises(DataError, match="not one question can be used"):
            run(folder, out, "--skip-bad")
        assert os.listdir(tmp_path) == ["questions"]

    def test_an_interruption_leaves_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, out = write_folder(tmp_path / "questions", 30), tmp_path / "packed"
        monkeypatch.setattr(packed_cloze, "BLOCK_SIZE", 500)
        read_file = cloze_files._read_file

        def read_and_be_interrupted(path: str) -> Any:
            if path.endswith("q0020.question"):
                raise KeyboardInterrupt
            return read_file(path)

        monkeypatch.setattr(cloze_files, "_read_file", read_and_be_interrupted)
        with pytest.raises(KeyboardInterrupt):
            run(folder, out)
        assert os.listdir(tmp_path) == ["questions"]

    def test_a_packed_file_can_be_packed_again(self, tmp_path: Path) -> None:
        out = tmp_path / "packed"
        run(TINY_CLOZE, out)
        content = out.read_bytes()
        run(out, out, "--force")
        assert out.read_bytes() == content

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: Any) -> None:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr("zipfile.ZipFile.writestr", fail)
        with pytest.raises(OSError, match="No space left on device: .*packed'"):
            run(TINY_CLOZE, tmp_path / "packed")
        assert not os.listdir(tmp_path)

    def test_a_folder_is_no_file_to_write(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="is a folder; expected the name of a file"):
            run(TINY_CLOZE, tmp_path, "--force")
