import os
from os import PathLike
from typing import Any, Union

from allennlp.commands import train
from allennlp.models import archival

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically


def install_whole_archives() -> None:
    """
    Makes AllenNLP write a model.tar.gz that is either whole or not there. Its own is left truncated by a
    full disk, and by whatever else ends it too early.
    """
    archive_model = archival.archive_model
    if getattr(archive_model, "is_atomic", False):
        return

    def archive_atomically(
        serialization_dir: Union[str, PathLike],
        weights: str = archival._DEFAULT_WEIGHTS,
        archive_path: Union[str, PathLike, None] = None,
        **kwargs: Any,
    ) -> str:
        path = os.fspath(archive_path or serialization_dir)
        if os.path.isdir(path):
            path = os.path.join(path, "model.tar.gz")
        if not os.path.isfile(os.path.join(serialization_dir, weights)):
            raise DataError(f"{serialization_dir}: there is no file {weights!r}, its best weights")
        with open_atomically(path, "wb") as file:
            archive_model(serialization_dir, weights, file.name, **kwargs)
        return path

    archive_atomically.is_atomic = True  # type: ignore[attr-defined]
    archival.archive_model = train.archive_model = archive_atomically
