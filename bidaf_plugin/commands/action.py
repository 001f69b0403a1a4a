import argparse
import inspect
from functools import partial

from allennlp.commands.subcommand import Subcommand
from allennlp.common import Registrable
from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option, run_trusting


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
