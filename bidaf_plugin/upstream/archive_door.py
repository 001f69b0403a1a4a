import argparse
import os
import shutil
import sys
from contextlib import contextmanager
from functools import partial
from tempfile import mkdtemp
from typing import Any, Iterator, Type

from allennlp.commands.evaluate import Evaluate
from allennlp.commands.predict import Predict
from allennlp.commands.subcommand import Subcommand
from allennlp.common import Params
from allennlp.models import archival
from allennlp.training import util as training_util

from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.archives.load import PathOrUrl, extract_files, load_archive
from bidaf_plugin.archives.trust import add_trust_option, run_trusting
from bidaf_plugin.common.errors import DataError


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
    if archival.extracted_archive is extracted_archive:
        return
    archival.extracted_archive = extracted_archive
    for name in ("evaluate", "predict", "_checklist_internal"):
        command = sys.modules.get(f"allennlp.commands.{name}")
        if command is not None:
            command.load_archive = load_archive  # type: ignore[attr-defined]
    for subcommand in (Evaluate, Predict):
        _give_trust_option(subcommand)
    create_serialization_dir = training_util.create_serialization_dir

    def create(params: Params, serialization_dir: PathOrUrl, *args: Any, **kwargs: Any) -> None:
        # AllenNLP would evaluate what is there.
        path = os.path.join(serialization_dir, archival.CONFIG_NAME)
        if os.path.exists(path) and not isinstance(read_plain_json(path), dict):
            raise DataError(f"{path}: the config must be a JSON object")
        create_serialization_dir(params, serialization_dir, *args, **kwargs)

    training_util.create_serialization_dir = create


def _give_trust_option(subcommand: Type[Subcommand]) -> None:
    add_subparser = subcommand.add_subparser

    def add(self: Subcommand, parser: Any) -> argparse.ArgumentParser:
        subparser = add_subparser(self, parser)
        add_trust_option(subparser)
        subparser.set_defaults(func=partial(run_trusting, subparser.get_default("func")))
        return subparser

    subcommand.add_subparser = add  # type: ignore[method-assign]
