import argparse
import inspect
import logging
import os
from functools import partial

from allennlp.commands.subcommand import Subcommand
from overrides import overrides

from bidaf_plugin.archives.trust import run_trusting
from bidaf_plugin.commands.action import Action


@Subcommand.register("bidaf")
class Bidaf(Subcommand):
    """`allennlp bidaf ACTION`: what the plugin can do beyond AllenNLP's own commands."""

    @overrides
    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        subparser = parser.add_parser(
            self.name,
            description="Tools for Bi-Directional Attention Flow models.",
            help="Tools for Bi-Directional Attention Flow models.",
        )
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
            action_parser.set_defaults(func=partial(_run_quietly, action))
        return subparser


def _run_quietly(action: Action, args: argparse.Namespace) -> None:
    """AllenNLP logs every parameter it builds; people want the answer. Its variables still rule."""
    if not os.environ.get("ALLENNLP_DEBUG"):
        level = os.environ.setdefault("ALLENNLP_LOG_LEVEL", "WARNING")
        logging.getLogger().setLevel(level)
    run_trusting(action.run, args)
