import os

from bidaf_plugin.common.errors import DataError


def check_folder(path: str) -> None:
    """To be called before the work whose results go to a folder, which need not be there yet."""
    if os.path.exists(path) and not os.path.isdir(path):
        raise DataError(f"{path}: this is a file, not a folder")


def check_is_in_folder(path: str) -> None:
    """The same for a file to write: its folder must be there."""
    if os.path.isdir(path):
        raise DataError(f"{path}: this is a folder, not a file")
    if not os.path.isdir(os.path.dirname(os.path.realpath(path))):
        raise DataError(f"{path}: there is no such folder")
