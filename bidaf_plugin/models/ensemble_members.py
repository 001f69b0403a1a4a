"""
The members of an ensemble: archives of single models, alone or in the archive of the ensemble.
"""

import os
from typing import Any, List, Sequence

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.models.attention_flow import AttentionFlow
from bidaf_plugin.predictors.load import load_span_predictor, unpack_archive
from bidaf_plugin.predictors.span_predictor import SpanPredictor

# Where they are in the archive of the ensemble, each in a folder with its number as its name.
MEMBERS_FOLDER = "members"


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
