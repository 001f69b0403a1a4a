import gzip
import tarfile
from pathlib import Path

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import cloze_archive
from bidaf_plugin.data.dataset_readers.cloze_files import Shard, iterate_questions
from bidaf_plugin.data.dataset_readers.cloze_question import BadQuestions
from tests.cloze_helpers import STRICT, ids, numbered, write_tar


class TestTar:
    @pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
    def test_archives(self, tmp_path: Path, mode: str) -> None:
        names = [f"./x/{id}.question" for id in numbered(5)] + ["x/README", "x/._q.question"]
        path = write_tar(tmp_path / "archive", names, mode)
        assert ids(path) == ids(f"{path}!./x") == ids(f"{path}!./") == numbered(5)
        assert ids(path, Shard(1, 2)) == ["q0001", "q0003"]
        (question,) = iterate_questions(str(path), STRICT, Shard(4, 5))
        assert question.place == f"{path}, x/q0004.question"

    @pytest.mark.parametrize("is_pax", [False, True])
    def test_a_size_beyond_all_files_is_damage(self, is_pax: bool, tmp_path: Path) -> None:
        member = tarfile.TarInfo("1.question")
        if is_pax:
            member.pax_headers = {"size": str(10**30)}
            header = member.tobuf(tarfile.PAX_FORMAT)
        else:
            member.size = 256**11 - 1
            header = member.tobuf(tarfile.GNU_FORMAT)
        (tmp_path / "archive").write_bytes(header + bytes(1024))
        # Its own folder is asked for, so that the member is passed over.
        with pytest.raises(DataError, match="archive!x: neither a folder, nor a tar archive"):
            ids(f"{tmp_path / 'archive'}!x")

    def test_a_folder_of_an_archive(self, tmp_path: Path) -> None:
        names = ["a/training/1.question", "a/test/2.question", "a/test/more/3.question"]
        path = write_tar(tmp_path / "a.tar.gz", names)
        # As on a disk: without those of folders in it.
        assert ids(f"{path}!a/test") == ["2"]
        assert ids(f"{path}!a/test/more") == ["3"]
        assert ids(f"{path}!a/training/") == ["1"]
        for folder in ("./a/test", "a/./test/", "/a//test"):
            assert ids(f"{path}!{folder}") == ["2"]
        with pytest.raises(DataError, match=r"several folders.*a\.tar\.gz!a/test'"):
            ids(path)
        with pytest.raises(
            DataError,
            match=r"no \.question files in 'a', but in a/test, a/test/more, a/training$",
        ):
            ids(f"{path}!a")

    def test_a_member_cannot_ask_for_all_memory(self, tmp_path: Path) -> None:
        path = write_tar(tmp_path / "a.tar", ["1.question"], "w")
        # A sparse file of a terabyte takes no space in an archive.
        sparse = tarfile.TarInfo("2.question")
        sparse.pax_headers = {
            "GNU.sparse.size": str(1 << 40),
            "GNU.sparse.numblocks": "1",
            "GNU.sparse.map": f"{1 << 40},0",
        }
        with tarfile.open(path, "a", format=tarfile.PAX_FORMAT) as archive:
            archive.addfile(sparse)
        with pytest.raises(DataError, match="2.question: 1,099,511,627,776 bytes are no question"):
            ids(path)
        bad = BadQuestions(skip=True)
        assert [question.id for question in iterate_questions(str(path), bad)] == ["1"]
        assert bad.counts == {"too large": 1}

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
            assert len(list(cloze_archive._members(archive))) == 10
            assert archive.members == []  # type: ignore[attr-defined]
