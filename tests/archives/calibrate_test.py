import json
import tarfile
from pathlib import Path
from typing import Any, Dict

import pytest

from bidaf_plugin.archives.calibrate import divide_logits
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.errors import DataError

QUESTION = {"question": "Who built the mill?", "passage": "Ada Orn built the mill in 1871."}


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


CONFIG = '{"model": {"output_layer": {"temperature": 1.5}}, "b": "é"}'


class TestDivideLogits:
    def test_the_model_has_the_temperature(self, tiny_archive: Path, tmp_path: Path) -> None:
        new = tmp_path / "new.tar.gz"
        assert divide_logits(str(tiny_archive), str(new), 2.0) == 2.0
        before, after = (
            load_span_predictor(path).predict_json(QUESTION) for path in (tiny_archive, new)
        )
        assert after["best_span"] == before["best_span"]
        assert after["confidence"] < before["confidence"]
        # A second time, on top of the first.
        assert divide_logits(str(new), str(new), 0.5) == 1.0
        again = load_span_predictor(new).predict_json(QUESTION)
        assert again["confidence"] == pytest.approx(before["confidence"])

    def test_nothing_else_changes(self, tiny_archive: Path, tmp_path: Path) -> None:
        new = tmp_path / "new.tar.gz"
        divide_logits(str(tiny_archive), str(new), 2.0)
        before, after = contents(tiny_archive), contents(new)
        configs = [json.loads(item.pop("config.json")) for item in (before, after)]
        assert after == before
        assert configs[1]["model"]["output_layer"].pop("temperature") == 2.0
        assert configs[0] == configs[1]
        with tarfile.open(tiny_archive) as old_tar, tarfile.open(new) as new_tar:
            assert [(m.name, m.mode, m.mtime) for m in old_tar] == [
                (m.name, m.mode, m.mtime) for m in new_tar
            ]

    def test_a_model_without_output_layer_is_refused(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, config_json='{"model": {"type": "basic_classifier"}}')
        with pytest.raises(DataError, match="no 'model.output_layer'"):
            divide_logits(str(archive), str(tmp_path / "new.tar.gz"), 2.0)
        assert not (tmp_path / "new.tar.gz").exists()

    @pytest.mark.parametrize("in_place", [False, True])
    def test_only_the_config_changes(self, tmp_path: Path, in_place: bool) -> None:
        archive = make_archive(tmp_path, config_json=CONFIG, weights_th="\0\1" * 5000)
        before = contents(archive)
        new = archive if in_place else tmp_path / "new.tar.gz"
        assert divide_logits(str(archive), str(new), 2.0) == 3.0
        after = contents(new)
        assert list(after) == list(before)
        config = json.loads(after.pop("config.json"))
        assert config == {"model": {"output_layer": {"temperature": 3.0}}, "b": "é"}
        before.pop("config.json")
        assert after == before

    def test_an_archive_without_config_is_refused(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, weights_th="x")
        with pytest.raises(DataError, match="there is no config.json in the archive"):
            divide_logits(str(archive), str(tmp_path / "new.tar.gz"), 2.0)
        assert not list(tmp_path.glob("new*"))

    def test_a_truncated_archive_is_refused_and_kept(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, config_json=CONFIG, weights_th="xyz" * 1000)
        half = archive.read_bytes()[: archive.stat().st_size // 2]
        archive.write_bytes(half)
        with pytest.raises(DataError, match="model.tar.gz: the archive is truncated or damaged"):
            divide_logits(str(archive), str(archive), 2.0)
        assert archive.read_bytes() == half
        assert not list(tmp_path.glob("*.tmp"))
