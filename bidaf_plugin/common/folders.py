import os
from typing import Optional, Union

from bidaf_plugin.common.errors import DataError


def check_folder(path: Optional[str]) -> None:
    """To be called before the work whose results go to a folder, which need not be there yet."""
    if path is not None and os.path.exists(path) and not os.path.isdir(path):
        raise DataError(f"{path}: this is a file, not a folder")


def check_can_be_written(path: Union[str, "os.PathLike[str]"]) -> None:
    """The same for a file: says so if there is no folder for it."""
    if os.path.isdir(path):
        raise DataError(f"{path}: this is a folder, not a file")
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise DataError(f"{path}: there is no such folder")
