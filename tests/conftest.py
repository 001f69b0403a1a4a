import json
from pathlib import Path

import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params

from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import SAMPLE_V2, tiny_params


@pytest.fixture(scope="session")
def tiny_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the tiny experiment, trained for a moment."""
    folder = tmp_path_factory.mktemp("tiny")
    train_model(Params(tiny_params()), str(folder / "run"))
    return folder / "run" / "model.tar.gz"


@pytest.fixture(scope="session")
def tiny_cloze_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the tiny cloze experiment, trained for a moment."""
    folder = tmp_path_factory.mktemp("tiny_cloze")
    train_model(Params(tiny_cloze_params()), str(folder / "run"))
    return folder / "run" / "model.tar.gz"


@pytest.fixture
def tiny_config(tmp_path: Path) -> Path:
    """A config file of the tiny experiment."""
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(tiny_params()))
    return path


@pytest.fixture(scope="session")
def v2_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of a tiny model that can say that there is no answer, trained for a moment."""
    folder = tmp_path_factory.mktemp("v2")
    choices = f"train_data:: '{SAMPLE_V2}', dev_data:: '{SAMPLE_V2}', batch_size:: 20"
    train_model(Params(tiny_params(choices, "bidaf_squad2.jsonnet")), str(folder / "run"))
    return folder / "run" / "model.tar.gz"
