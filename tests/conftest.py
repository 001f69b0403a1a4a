import json
from pathlib import Path
from typing import Iterator, List

import pytest
import torch
from allennlp.commands.train import train_model
from allennlp.common import Params

from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import SAMPLE_V2, tiny_params


@pytest.fixture
def kept_num_threads() -> Iterator[None]:
    """Gives back, after a test, the number of torch's threads that it may have changed."""
    num_threads = torch.get_num_threads()
    yield
    torch.set_num_threads(num_threads)


@pytest.fixture(scope="session")
def tiny_archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of the tiny experiment, trained for a moment."""
    folder = tmp_path_factory.mktemp("tiny")
    train_model(Params(tiny_params()), str(folder / "run"))
    return folder / "run" / "model.tar.gz"


@pytest.fixture(scope="session")
def tiny_members(tiny_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> List[str]:
    """Archives of three models: one, the same with another seed, and one that reads otherwise."""
    folder = tmp_path_factory.mktemp("members")
    other_seed = tiny_params("seed:: 7")
    # Commas and hyphens belong to words here, and rare words are unknown.
    other_words = tiny_params("seed:: 8, hidden_size:: 4, min_word_count:: 2")
    for reader in ("dataset_reader", "validation_dataset_reader"):
        other_words[reader]["tokenizer"] = {"type": "whitespace"}
        del other_words[reader]["question_tokenizer"]
    for name, params in (("other_seed", other_seed), ("other_words", other_words)):
        train_model(Params(params), str(folder / name))
    return [
        str(tiny_archive),
        *(str(folder / name / "model.tar.gz") for name in ("other_seed", "other_words")),
    ]


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
