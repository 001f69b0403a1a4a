from pathlib import Path

import pytest
from allennlp.common import Params

from bidaf_plugin.archives.packaged import PACKAGED, find_config
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.training.runs import find_variants
from tests.helpers import ROOT


def test_the_model_of_the_repository_is_found() -> None:
    assert PACKAGED == ROOT / "pretrained" / "bidaf-squad.tar.gz"


class TestConfigs:
    def test_are_found_in_any_folder(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)
        path = "training_configs/bidaf_squad.jsonnet"
        assert find_config(path) == str(ROOT / path)
        assert Params.from_file(path)["model"]["type"] == "attention_flow"
        assert len(find_variants(["training_configs/variants"])) > 10
        with pytest.raises(DataError, match="no variant 'x'; known are: alpha_bilinear, "):
            find_variants(["x"])

    def test_in_the_working_folder_come_first(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        path = Path("training_configs", "bidaf_squad.jsonnet")
        path.parent.mkdir()
        path.write_text("{}")
        assert find_config(str(path)) == str(path)
        # Folders of the package are no configs.
        assert find_config("models") == "models"
        with pytest.raises(FileNotFoundError):
            Params.from_file("training_configs/none.jsonnet")
