import json
import tarfile
from pathlib import Path
from typing import Any, Dict

import pytest

from bidaf_plugin.common.archives import rewrite_config
from bidaf_plugin.common.errors import DataError


def contents(path: Path) -> Dict[str, Any]:
    with tarfile.open(path) as archive:
        return {
            member.name: file.read() if (file := archive.extractfile(member)) else member.type
            for member in archive
        }


def make_archive(folder: Path, **files: str) -> Path:
    (folder / "vocabulary").mkdir(parents=True)
    (folder / "vocabulary" / "tokens.txt").write_text("a\nb\n")
    path = folder / "model.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            (folder / name).write_text(text)
            archive.add(folder / name, arcname=name.replace("_", "."))
        archive.add(folder / "vocabulary", arcname="vocabulary")
    return path


def set_a(config: Dict[str, Any]) -> None:
    config["a"] = 2


class TestRewriteConfig:
    @pytest.mark.parametrize("in_place", [False, True])
    def test_only_the_config_changes(self, tmp_path: Path, in_place: bool) -> None:
        archive = make_archive(tmp_path, config_json='{"a": 1, "b": "é"}', weights_th="\0\1" * 5000)
        before = contents(archive)
        new = archive if in_place else tmp_path / "new.tar.gz"
        rewrite_config(str(archive), str(new), set_a)
        after = contents(new)
        assert list(after) == list(before)
        assert json.loads(after.pop("config.json")) == {"a": 2, "b": "é"}
        before.pop("config.json")
        assert after == before

    def test_an_archive_without_config_is_refused(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, weights_th="x")
        with pytest.raises(DataError, match="there is no config.json in the archive"):
            rewrite_config(str(archive), str(tmp_path / "new.tar.gz"), set_a)
        assert not list(tmp_path.glob("new*"))

    def test_a_truncated_archive_is_refused_and_kept(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, config_json="{}", weights_th="xyz" * 1000)
        half = archive.read_bytes()[: archive.stat().st_size // 2]
        archive.write_bytes(half)
        with pytest.raises(DataError, match="model.tar.gz: the archive is truncated or damaged"):
            rewrite_config(str(archive), str(archive), set_a)
        assert archive.read_bytes() == half
        assert not list(tmp_path.glob("*.tmp"))
