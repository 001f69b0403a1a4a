import json
import tarfile
from pathlib import Path

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.evaluation.calibrated_archive import divide_logits
from bidaf_plugin.predictors.load import load_span_predictor
from tests.common.archives_test import contents, make_archive

QUESTION = {"question": "Who built the mill?", "passage": "Ada Orn built the mill in 1871."}


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
