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


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """For actions that load archives: where to, and whether to trust them."""
    parser.add_argument("--cuda-device", type=int, default=-1, help="the GPU to use; -1 for none")
    add_trust_option(parser)


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
