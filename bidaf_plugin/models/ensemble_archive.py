"""
The archive of an ensemble: an ordinary one, with the members' archives, unpacked, in its folder
`members`. It is whole in itself, and each folder in it is a model that AllenNLP can load.
"""

import json
import os
import tempfile
from typing import Any, Dict, List, Sequence
from uuid import uuid4

import torch
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Vocabulary
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.models.model import _DEFAULT_WEIGHTS

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors.load import unpack_archive

MEMBERS_FOLDER = "members"


def check_members(members: Sequence[str]) -> None:
    """There must be some, and no archive may have two votes."""
    if not members:
        raise DataError("an ensemble needs the archives of its members; none is given")
    paths = [os.path.realpath(member) for member in members]
    for number, (member, path) in enumerate(zip(members, paths, strict=True)):
        if path in paths[:number]:
            raise DataError(f"{member} is given twice: the members of an ensemble must differ")


def gather_members(members: Sequence[str], serialization_dir: str) -> List[str]:
    """
    Unpacks archives into `serialization_dir`, unless they are there.

    # Returns

    `List[str]`
        The folders of the members, in their order.
    """
    folders = []
    for number, member in enumerate(members):
        folder = os.path.join(serialization_dir, MEMBERS_FOLDER, str(number))
        if not os.path.isdir(folder):
            unpack_archive(member, folder)
        folders.append(folder)
    return folders


def write_ensemble_archive(members: Sequence[str], rule: str, path: str) -> None:
    """
    Writes an archive that `allennlp predict` and `allennlp evaluate` take like any other.

    # Parameters

    members : `Sequence[str]`
        Archives of span models.
    rule : `str`
        The registered name of an `EnsembleRule`.
    path : `str`
        The file to write, which is either whole or not there.
    """
    check_members(members)
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
        temporary_path = f"{os.path.realpath(path)}.{uuid4().hex}.tmp"
        try:
            archive_model(
                folder, archive_path=temporary_path, include_in_archive=[MEMBERS_FOLDER]
            )
            os.replace(temporary_path, os.path.realpath(path))
        finally:
            if os.path.exists(temporary_path):
                os.remove(temporary_path)


def _ensemble_config(member: Dict[str, Any], num_members: int, rule: str) -> Dict[str, Any]:
    """The config of an ensemble that reads its data as its first member does."""
    return {
        "dataset_reader": member.get("validation_dataset_reader") or member["dataset_reader"],
        "vocabulary": {"type": "empty"},
        "model": {
            "type": "attention_flow_ensemble",
            "members": [f"{MEMBERS_FOLDER}/{number}" for number in range(num_members)],
            "rule": rule,
        },
        "data_loader": member.get("validation_data_loader") or member["data_loader"],
        "evaluation": {"type": "bidaf_questions"},
    }
