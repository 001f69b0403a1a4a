import os
from pathlib import Path

from bidaf_plugin.common.errors import DataError

_PACKAGE = Path(__file__).parents[1]


def find_packaged(path: str) -> Path:
    """
    A file or folder that comes with the package, by its path in the repository. A wheel has it in the folder of
    the package.
    """
    installed = _PACKAGE / path
    return installed if installed.exists() else _PACKAGE.parent / path


def find_config(path: str) -> str:
    """The path of a config, which for those in `training_configs/` need not be in the working folder."""
    if os.path.exists(path) or Path(path).parts[:1] != ("training_configs",):
        return path
    packaged = find_packaged(path)
    return str(packaged) if packaged.exists() else path


PACKAGED = find_packaged("pretrained/bidaf-squad.tar.gz")


def packaged_archive() -> str:
    """The model that comes with the package, trained on SQuAD."""
    if not PACKAGED.is_file():
        raise DataError(
            "no archive is given and none comes with the package: `make train` makes a small one, "
            "runs/quickstart/model.tar.gz, and `make reproduce` the paper's"
        )
    return str(PACKAGED)
