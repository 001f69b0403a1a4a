"""
Actions that describe training runs and configs.
"""

import argparse
import os

from allennlp.common import Params

from bidaf_plugin.archives.packaged import find_config
from bidaf_plugin.commands.action import Action, add_model_options, add_output, add_overrides
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_can_be_written


@Action.register("report")
class Report(Action):
    """
    Show a training run on one page: curves, metrics, parameters, answers and errors.

    RUN is the folder of `allennlp train -s`, whether training has ended or not. The page is one file
    that needs no network. With --data, a SQuAD file, its questions are answered by the model, or by
    its best state so far, or taken from --predictions; the page then has scores of groups of questions,
    and samples of answers, with what the model attends to, and of errors.

    Example: allennlp bidaf report runs/squad -o report.html
             allennlp bidaf report runs/squad --data dev-v1.1.json -o report.html
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", help="the folder of a training run")
        add_output(parser, "FILE", "the page to write")
        parser.add_argument("--data", metavar="DATA", help="a SQuAD file with gold answers")
        parser.add_argument(
            "--predictions",
            metavar="FILE",
            help="answers to its questions, {question id: answer}, if they are there already",
        )
        parser.add_argument(
            "-n", "--num-samples", metavar="N", type=int, default=8,
            help="how many answers, and how many errors, to show",
        )  # fmt: skip
        parser.add_argument(
            "--seed", metavar="S", type=int, default=0, help="another seed, other samples"
        )
        add_model_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.run_report import answer_data, report_as_html
        from bidaf_plugin.analysis.training_run import read_run

        if args.predictions is not None and args.data is None:
            raise DataError("--predictions needs --data")
        if args.num_samples < 0:
            raise DataError(f"-n must not be negative, found {args.num_samples}")
        check_can_be_written(args.output)
        run = read_run(args.run)
        answers = None
        if args.data is not None:
            samples = (args.num_samples, args.seed)
            answers = answer_data(run, args.data, args.predictions, args.cuda_device, *samples)
        write_atomically(args.output, report_as_html(run, answers))
        print(f"wrote {args.output}: {len(run.epochs)} epochs")


@Action.register("table")
class Table(Action):
    """
    Show the trainable parameters of configs, layer by layer.

    Word and character vectors are not counted: how many there are depends on the data. Nothing is
    downloaded.

    Example: allennlp bidaf table training_configs/bidaf_squad.jsonnet
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("config", nargs="+", help="experiment files")
        add_overrides(parser, "the configs")

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.run_report import count_parameters_by_layer, format_table

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
