import argparse

from allennlp.common import Registrable


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
