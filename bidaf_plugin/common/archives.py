import os
import shutil
import tarfile
import tempfile
from contextlib import contextmanager
from os import PathLike
from pathlib import PurePosixPath
from typing import Iterator, Union

from allennlp.models import archival

from bidaf_plugin.common.errors import DataError


@contextmanager
def extracted_archive(
    resolved_archive_file: Union[str, "PathLike[str]"], cleanup: bool = True
) -> Iterator[str]:
    """
    What AllenNLP's function of this name does, for archives that may come from anywhere: nothing is
    written outside of the folder, and a damaged archive leaves no folder behind.
    """
    folder = tempfile.mkdtemp()
    try:
        _extract(resolved_archive_file, folder)
    except BaseException:
        shutil.rmtree(folder)
        raise
    try:
        yield folder
    finally:
        if cleanup:
            shutil.rmtree(folder)


def _extract(archive_file: Union[str, "PathLike[str]"], folder: str) -> None:
    with tarfile.open(archive_file, "r:gz") as archive:
        for member in archive:
            path = PurePosixPath(member.name)
            if path.is_absolute() or ".." in path.parts or not (member.isfile() or member.isdir()):
                raise DataError(
                    f"{archive_file}: {member.name!r} leads out of the archive; it is not extracted"
                )
            content = archive.extractfile(member)
            if content is not None:
                os.makedirs(os.path.join(folder, path.parent), exist_ok=True)
                with open(os.path.join(folder, path), "wb") as file:
                    shutil.copyfileobj(content, file)


def install_careful_extraction() -> None:
    """Makes AllenNLP's `load_archive` use it."""
    archival.extracted_archive = extracted_archive
