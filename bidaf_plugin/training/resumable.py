import os
from typing import Any, Dict

from allennlp.common import Params

from bidaf_plugin.common.errors import DataError


def train_or_resume(params: Dict[str, Any], folder: str) -> None:
    """
    Trains, or goes on where an earlier call was interrupted; a finished run is left alone. What was
    begun with other settings does not pass for the same.
    """
    from allennlp.commands.train import train_model

    config_path = os.path.join(folder, "config.json")
    is_begun = os.path.exists(config_path)
    if is_begun and Params.from_file(config_path).as_dict(quiet=True) != params:
        raise DataError(
            f"{folder} was begun with other settings (see its config.json): use another folder, or "
            "remove it"
        )
    if not os.path.exists(os.path.join(folder, "metrics.json")):
        train_model(Params(params), folder, recover=is_begun, file_friendly_logging=True)
