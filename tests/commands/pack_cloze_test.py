import argparse
import errno
import os
from pathlib import Path
from typing import Any, Callable, List

import pytest

from bidaf_plugin.commands import Action
from bidaf_plugin.commands.pack_cloze import pack
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import BidafClozeReader, cloze_files, packed_cloze_writer
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

    def test_several_folders_leave_nothing_that_blocks_the_corrected_command(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Blocks are written before the second folder is met.
        monkeypatch.setattr(packed_cloze_writer, "BLOCK_SIZE", 500)
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

    @pytest.fixture
    def opened(self, monkeypatch: pytest.MonkeyPatch) -> List[str]:
        """What has been opened. The twentieth time is interrupted."""
        monkeypatch.setattr(packed_cloze_writer, "BLOCK_SIZE", 500)
        opened: List[str] = []
        read_file = cloze_files._read_file

        def read_and_be_interrupted(path: str) -> Any:
            opened.append(path)
            if len(opened) == 20:
                raise KeyboardInterrupt
            return read_file(path)

        monkeypatch.setattr(cloze_files, "_read_file", read_and_be_interrupted)
        return opened

    def test_goes_on_after_an_interruption(
        self, tmp_path: Path, opened: List[str], capsys: pytest.CaptureFixture[str]
    ) -> None:
        folder = write_folder(tmp_path / "questions", 30)
        whole, out = tmp_path / "whole", tmp_path / "packed"
        with pytest.raises(SystemExit, match="goes on where it stopped"):
            run(folder, out)
        assert not out.exists()
        run(folder, out)
        assert "16 questions are in" in capsys.readouterr().out
        # What was packed is not read again.
        assert len(opened) == 20 + (30 - 16)
        run(folder, whole)
        assert out.read_bytes() == whole.read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["packed", "questions", "whole"]

    @pytest.mark.parametrize(
        "change, message",
        [
            (lambda path: path.unlink(), "1 of the questions that were packed before are gone"),
            (
                lambda path: path.write_text(question_text(answer="@entity2")),
                "q0003.question has changed since it was packed",
            ),
        ],
    )
    def test_does_not_go_on_with_what_has_changed(
        self, tmp_path: Path, opened: List[str], change: Callable[[Path], None], message: str
    ) -> None:
        folder, out = write_folder(tmp_path / "questions", 30), tmp_path / "packed"
        with pytest.raises(SystemExit, match="goes on where it stopped"):
            run(folder, out)
        # Clocks of file systems may tick slowly.
        partial = tmp_path / "packed.partial"
        os.utime(partial, (partial.stat().st_atime, partial.stat().st_mtime - 1))
        for path in folder.iterdir():
            os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 2))
        change(folder / "q0003.question")
        with pytest.raises(DataError, match=f"{message}: remove .*packed.partial to begin anew"):
            run(folder, out)
        assert not out.exists()
        partial.unlink()
        run(folder, out)
        assert out.exists()

    def test_does_not_go_on_with_other_options_or_another_archive(
        self, tmp_path: Path, opened: List[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder, out = write_folder(tmp_path / "questions", 30), tmp_path / "packed"
        with pytest.raises(SystemExit, match="goes on where it stopped"):
            run(folder, out, "--without-answers")
        with pytest.raises(DataError, match="begun .* with other options"):
            run(folder, out)

        names = [f"{number}.question" for number in range(40)]
        archive, out = write_tar(tmp_path / "a.tar", names, "w"), tmp_path / "of_archive"
        archive.write_bytes(archive.read_bytes()[:-12_000])
        with pytest.raises(DataError, match="truncated or damaged"):
            run(archive, out)
        write_tar(archive, names, "w")
        with pytest.raises(DataError, match="of_archive.partial was begun .* before the source"):
            run(archive, out)

    def test_a_full_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(records: Any) -> bytes:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        with monkeypatch.context() as patches:
            patches.setattr(packed_cloze_writer, "encode_block", fail)
            with pytest.raises(
                DataError, match="packed.partial: No space left on device; the same"
            ):
                run(TINY_CLOZE, tmp_path / "packed")
        run(TINY_CLOZE, tmp_path / "packed")

    def test_a_folder_is_no_file_to_write(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="is a folder; expected the name of a file"):
            run(TINY_CLOZE, tmp_path, "--force")

    def test_the_result_is_verified(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        encode_block = packed_cloze_writer.encode_block
        monkeypatch.setattr(
            packed_cloze_writer,
            "encode_block",
            lambda records: encode_block([(id, content + b" ") for id, content in records]),
        )
        with pytest.raises(DataError, match="does not hold what was packed"):
            run(TINY_CLOZE, tmp_path / "packed")
        assert not (tmp_path / "packed").exists()
