"""
Repairs of how AllenNLP reads and writes archives.
"""

import argparse
import os
import shutil
import sys
from contextlib import contextmanager
from functools import partial
from tempfile import mkdtemp
from typing import Any, Iterator, Optional, Type

from allennlp.commands import train
from allennlp.commands.evaluate import Evaluate
from allennlp.commands.predict import Predict
from allennlp.commands.subcommand import Subcommand
from allennlp.models import archival

from bidaf_plugin.archives.load import PathOrUrl, extract_files, load_archive
from bidaf_plugin.archives.trust import add_trust_option, run_trusting
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically


@contextmanager
def extracted_archive(resolved_archive_file: PathOrUrl, cleanup: bool = True) -> Iterator[str]:
    """What AllenNLP's function of this name does, for archives that may come from anywhere."""
    folder = mkdtemp()
    is_whole = False
    try:
        extract_files(resolved_archive_file, folder, resolved_archive_file)
        is_whole = True
        yield folder
    finally:
        if cleanup or not is_whole:
            shutil.rmtree(folder)


def install_archive_door() -> None:
    """Makes AllenNLP's commands load archives and folders of training runs this way."""
    archival.extracted_archive = extracted_archive
    for name in ("evaluate", "predict", "_checklist_internal"):
        command = sys.modules.get(f"allennlp.commands.{name}")
        if command is not None:
            command.load_archive = load_archive  # type: ignore[attr-defined]
    for subcommand in (Evaluate, Predict):
        _give_trust_option(subcommand)


def _give_trust_option(subcommand: Type[Subcommand]) -> None:
    add_subparser = subcommand.add_subparser

    def add(self: Subcommand, parser: Any) -> argparse.ArgumentParser:
        subparser = add_subparser(self, parser)
        add_trust_option(subparser)
        subparser.set_defaults(func=partial(run_trusting, subparser.get_default("func")))
        return subparser

    subcommand.add_subparser = add  # type: ignore[method-assign]


def install_whole_archives() -> None:
    """
    Makes AllenNLP write a model.tar.gz that is either whole or not there. Its own is left truncated by a
    full disk, and by whatever else ends it too early.
    """
    archive_model = archival.archive_model

    def archive_atomically(
        serialization_dir: PathOrUrl,
        weights: str = archival._DEFAULT_WEIGHTS,
        archive_path: Optional[PathOrUrl] = None,
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

    archival.archive_model = train.archive_model = archive_atomically
