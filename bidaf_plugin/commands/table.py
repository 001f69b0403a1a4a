import argparse
import os

from allennlp.common import Params
from overrides import overrides

from bidaf_plugin.analysis.parameter_table import count_parameters_by_layer, format_table
from bidaf_plugin.archives.packaged import find_config
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError


@Action.register("table")
class Table(Action):
    """
    Show the trainable parameters of configs, layer by layer.

    Word and character vectors are not counted: how many there are depends on the data. Nothing is
    downloaded.

    Example: allennlp bidaf table training_configs/bidaf_squad.jsonnet
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("config", nargs="+", help="experiment files")
        parser.add_argument(
            "-o", "--overrides", default="", help="a JSON structure that overrides the configs"
        )

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        for config in map(find_config, args.config):
            if os.path.isdir(config):
                raise DataError(f"{config}: this is a folder, not a file")
            if not os.path.isfile(config):
                raise DataError(f"{config}: there is no such file")
        configs = [Params.from_file(config, args.overrides) for config in args.config]
        for path, config in zip(args.config, configs, strict=True):
            if not isinstance(config.params, dict):
                raise DataError(f"{path}: the config must be a JSON object")
            for key in set(config).difference(Params.from_file(path)):
                raise DataError(
                    f"in the overrides: an experiment has no key {key!r}; choices, like hidden_size, "
                    "stand in the config file"
                )
        print(format_table(args.config, [count_parameters_by_layer(config) for config in configs]))
