import os
import tarfile
import zlib
from typing import Any, Dict

from allennlp.common import Params

from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.tar_files import read_tar_gz


def train_or_resume(params: Dict[str, Any], folder: str) -> None:
    """
    Trains, or goes on where an earlier call was interrupted; a finished run is left alone. What was
    begun with other settings does not pass for the same.
    """
    from allennlp.commands.train import train_model
    from allennlp.models.archival import archive_model

    config_path = os.path.join(folder, "config.json")
    is_begun = os.path.exists(config_path)
    if is_begun and read_plain_json(config_path) != params:
        raise DataError(
            f"{folder} was begun with other settings (see its config.json): use another folder, or "
            "remove it"
        )
    if not os.path.exists(os.path.join(folder, "metrics.json")):
        train_model(Params(params), folder, recover=is_begun, file_friendly_logging=True)
    elif not _is_whole(os.path.join(folder, "model.tar.gz")):
        # Training had ended, and was interrupted while AllenNLP wrote the archive.
        archive_model(folder)


def _is_whole(archive_path: str) -> bool:
    """Whether an archive can be read to its end."""
    try:
        return len(list(read_tar_gz(archive_path, archive_path))) > 0
    except (OSError, EOFError, tarfile.TarError, zlib.error, DataError):
        return False
