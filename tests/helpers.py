"""
What several tests share: the paths of the fixtures, a tiny experiment, and the real data if present.
"""

import json
import os
import warnings
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import _jsonnet
import pytest
import torch
from allennlp.common import Params
from allennlp.common.testing.distributed_test import init_process
from allennlp.common.util import find_open_port
from allennlp.data import Batch, DatasetReader, Instance, Vocabulary
from allennlp.models import Model
from torch.multiprocessing import start_processes

import bidaf_plugin  # noqa: F401  (registers everything)

ROOT = Path(__file__).parent.parent
FIXTURES = ROOT / "fixtures"
TINY_SQUAD = FIXTURES / "squad" / "tiny.json"
SAMPLE_V2 = FIXTURES / "squad" / "sample_v2.json"

_DATA = os.environ.get("BIDAF_DATA", "")
REAL_DATA = Path(_DATA) if _DATA else None
needs_real_data = pytest.mark.skipif(
    REAL_DATA is None or not (REAL_DATA / "squad").is_dir(),
    reason="needs the real SQuAD data: set BIDAF_DATA to its folder (see CONTRIBUTING.md)",
)


@contextmanager
def without_onednn() -> Iterator[None]:
    """
    For half precision on the CPU: oneDNN uses instructions for it that virtual machines may announce
    and not have.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with torch.backends.mkldnn.flags(enabled=False):
            yield


def tiny_params(choices: str = "", config: str = "bidaf_squad_adam.jsonnet") -> Dict[str, Any]:
    """
    The experiment of a file of training_configs in tiny, on the tiny fixture. `choices` is jsonnet
    that overrides choices of training_configs/lib/bidaf.libsonnet.
    """
    snippet = f"""
        (import '{ROOT}/training_configs/{config}') + {{
          train_data:: '{TINY_SQUAD}',
          dev_data:: '{TINY_SQUAD}',
          glove:: if $.word_embedding then null else super.glove,
          min_word_count:: if $.word_embedding then 1 else super.min_word_count,
          word_dim:: if $.word_embedding then 6 else super.word_dim,
          tuned_question_words:: 0,
          min_character_count:: if $.character_embedding then 1 else super.min_character_count,
          character_dim:: if $.character_embedding then 3 else super.character_dim,
          num_filters:: if $.character_embedding then 4 else super.num_filters,
          hidden_size:: 5,
          batch_size:: 2,
          num_epochs:: 1,
        }} + {{ {choices} }}"""
    return json.loads(_jsonnet.evaluate_snippet("tiny", snippet))


def read_tiny(params: Dict[str, Any]) -> List[Instance]:
    reader = DatasetReader.from_params(Params(deepcopy(params["validation_dataset_reader"])))
    return list(reader.read(TINY_SQUAD))


def build_model(params: Dict[str, Any], instances: List[Instance], seed: int = 0) -> Model:
    """The model of `params` in evaluation mode, with a vocabulary from `instances`."""
    torch.manual_seed(seed)
    model = Model.from_params(
        vocab=Vocabulary.from_instances(instances), params=Params(deepcopy(params["model"]))
    )
    return model.eval()


def as_tensors(instances: List[Instance], vocab: Vocabulary) -> Dict[str, Any]:
    batch = Batch(instances)
    batch.index_instances(vocab)
    return batch.as_tensor_dict()


def run_in_two_processes(function: Callable[..., None], **kwargs: Any) -> None:
    """AllenNLP's `run_distributed_test` at a port of its own: all of its tests have the same one."""
    args = (2, [-1, -1], function, (), kwargs, "127.0.0.1", find_open_port())
    start_processes(init_process, args=args, nprocs=2, start_method="fork")
