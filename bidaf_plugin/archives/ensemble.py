"""
Ensembles: archives of single models, alone or in the archive of the ensemble.
"""

import json
import os
import shutil
import tempfile
from typing import Any, Dict, List, Sequence

import torch
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Vocabulary
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.models.model import _DEFAULT_WEIGHTS

from bidaf_plugin.archives.load import MEMBERS_FOLDER, load_span_predictor, unpack_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.predictors import SpanPredictor


def check_members(members: Sequence[str]) -> None:
    """There must be some, and no archive may have two votes."""
    if not members:
        raise DataError("an ensemble needs the archives of its members; none is given")
    paths = [os.path.realpath(member) for member in members]
    for number, (member, path) in enumerate(zip(members, paths, strict=True)):
        if path in paths[:number]:
            raise DataError(f"{member} is given twice: the members of an ensemble must differ")


def load_member(archive: str, cuda_device: int = -1, **predictor_args: Any) -> SpanPredictor:
    """A model that can be a member: one, and one that answers with spans."""
    predictor = load_span_predictor(archive, cuda_device, **predictor_args)
    if not isinstance(predictor._model, AttentionFlow):
        raise DataError(f"{archive}: an ensemble cannot be a member of an ensemble")
    return predictor


def gather_members(members: Sequence[str], serialization_dir: str) -> List[str]:
    """
    Unpacks archives into `serialization_dir`, unless they are there.

    # Returns

    `List[str]`
        The folders of the members, in their order.
    """
    parent = os.path.join(serialization_dir, MEMBERS_FOLDER)
    os.makedirs(parent, exist_ok=True)
    folders = [os.path.join(parent, str(number)) for number in range(len(members))]
    for member, folder in zip(members, folders, strict=True):
        if not os.path.isdir(folder):
            unpack_archive(member, folder)
    return folders


def write_ensemble_archive(members: Sequence[str], rule: str, path: str) -> None:
    """
    Writes an archive of an `AttentionFlowEnsemble`, which has its members in it: `allennlp predict` and
    `allennlp evaluate` take it like any other, anywhere.

    # Parameters

    members : `Sequence[str]`
        Archives of span models. The data of the ensemble is read as the first one reads it.
    rule : `str`
        The registered name of an `EnsembleRule`.
    path : `str`
        The file to write, which is either whole or not there.
    """
    check_members(members)
    for member in members:
        load_member(member)
    with tempfile.TemporaryDirectory() as folder:
        first, *_ = gather_members(members, folder)
        with open(os.path.join(first, CONFIG_NAME), encoding="utf-8") as file:
            config = _ensemble_config(json.load(file), len(members), rule)
        with open(os.path.join(folder, CONFIG_NAME), "w", encoding="utf-8") as file:
            json.dump(config, file, indent=4)
        Meta.new().to_file(os.path.join(folder, META_NAME))
        Vocabulary.empty().save_to_files(os.path.join(folder, "vocabulary"))
        # See `AttentionFlowEnsemble.state_dict`.
        torch.save({}, os.path.join(folder, _DEFAULT_WEIGHTS))
        archive = archive_model(folder, include_in_archive=[MEMBERS_FOLDER])
        with open(archive, "rb") as source, open_atomically(path, "wb") as file:
            shutil.copyfileobj(source, file)


def _ensemble_config(first: Dict[str, Any], num_members: int, rule: str) -> Dict[str, Any]:
    """The config of an ensemble, given that of its first member."""
    return {
        "dataset_reader": first.get("validation_dataset_reader") or first["dataset_reader"],
        "vocabulary": {"type": "empty"},
        "model": {
            "type": "attention_flow_ensemble",
            "members": [f"{MEMBERS_FOLDER}/{number}" for number in range(num_members)],
            "rule": rule,
        },
        "data_loader": first.get("validation_data_loader") or first["data_loader"],
        "evaluation": {"type": "bidaf_questions"},
    }
