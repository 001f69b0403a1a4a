import argparse
import inspect
from functools import partial
from typing import Optional

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Registrable
from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option, run_trusting
from bidaf_plugin.cluster.connection import ClusterOptions
from bidaf_plugin.common.errors import DataError


class Action(Registrable):
    """
    One `allennlp bidaf ACTION`, registered under the word that calls it. The class docstring's first
    line is its help. Imports that only one action needs belong into its `run`.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Adds the arguments of this action."""
        raise NotImplementedError

    def run(self, args: argparse.Namespace) -> None:
        raise NotImplementedError


def add_archive(parser: argparse.ArgumentParser) -> None:
    """For actions that look into one archive: which, and whether to trust it."""
    parser.add_argument("archive", help="the model, model.tar.gz")
    add_trust_option(parser)


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """For actions that load archives: where to, and whether to trust them."""
    parser.add_argument("--cuda-device", type=int, default=-1, help="the GPU to use; -1 for none")
    add_trust_option(parser)


def add_output(
    parser: argparse.ArgumentParser,
    metavar: str = "FOLDER",
    help: str = "where the files go",
    required: bool = True,
) -> None:
    parser.add_argument("-o", "--output", metavar=metavar, required=required, help=help)


def add_cluster_options(parser: argparse.ArgumentParser) -> None:
    """For actions that can work on many machines."""
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        nargs="?",
        const="local",
        help="work on the Ray cluster at HOST:PORT, or without an address on all cores of this machine",
    )
    parser.add_argument(
        "--workers", metavar="N", type=int, help="with --ray: how many (default: all that fit)"
    )
    parser.add_argument(
        "--cpus-per-worker", metavar="N", type=int, help="with --ray: cores of each (default: 1)"
    )
    parser.add_argument(
        "--gpus-per-worker", metavar="N", type=int, help="with --ray: GPUs of each (default: none)"
    )


def cluster_options(args: argparse.Namespace) -> Optional[ClusterOptions]:
    """Which cluster the arguments mean, None for none."""
    given = {
        name: getattr(args, name) for name in ("workers", "cpus_per_worker", "gpus_per_worker")
    }
    for name, number in given.items():
        option = f"--{name.replace('_', '-')}"
        if number is not None and args.ray is None:
            raise DataError(f"{option} is for --ray")
        least = 0 if name.startswith("gpus") else 1
        if number is not None and number < least:
            raise DataError(f"{option} must be {least} or more, not {number}")
    if args.ray is None:
        return None
    workers, cpus, gpus = given.values()
    packages = getattr(args, "include_package", None) or []
    return ClusterOptions(args.ray, workers, cpus or 1, gpus or 0, packages)


def add_overrides(parser: argparse.ArgumentParser, configs: str = "the config") -> None:
    help = f"a JSON structure that overrides {configs}"
    parser.add_argument("-o", "--overrides", default="", help=help)


@Subcommand.register("bidaf")
class Bidaf(Subcommand):
    """`allennlp bidaf ACTION`: what the plugin can do beyond AllenNLP's own commands."""

    @overrides
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        summary = "Tools for Bi-Directional Attention Flow models."
        subparser = parser.add_parser(self.name, description=summary, help=summary)
        actions = subparser.add_subparsers(title="Actions", metavar="ACTION", required=True)
        for name in sorted(Action.list_available()):
            action = Action.by_name(name)()
            description = inspect.getdoc(action) or ""
            action_parser = actions.add_parser(
                name,
                help=description.partition("\n")[0],
                description=description,
                formatter_class=argparse.RawDescriptionHelpFormatter,
            )
            action.add_arguments(action_parser)
            action_parser.set_defaults(func=partial(run_trusting, action.run))
        return subparser
