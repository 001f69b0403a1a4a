import json
import os
import shutil
import tempfile
from typing import Any, Dict, Sequence

import torch
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Vocabulary
from allennlp.models.archival import CONFIG_NAME, archive_model
from allennlp.models.model import _DEFAULT_WEIGHTS

from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.models.ensemble_members import (
    MEMBERS_FOLDER,
    check_members,
    gather_members,
    load_member,
)


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
