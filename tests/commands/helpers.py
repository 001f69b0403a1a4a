import argparse
from typing import Any

from bidaf_plugin.commands import Action


def run_action(name: str, *arguments: Any) -> None:
    """What `allennlp bidaf NAME ARGUMENTS` does, in this process."""
    action = Action.by_name(name)()
    parser = argparse.ArgumentParser()
    action.add_arguments(parser)
    action.run(parser.parse_args([str(argument) for argument in arguments]))
