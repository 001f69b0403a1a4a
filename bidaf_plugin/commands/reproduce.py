import argparse
import os

from overrides import overrides

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.folders import check_folder


@Action.register("reproduce")
class Reproduce(Action):
    """
    Train the paper's model on SQuAD, and put its scores beside the paper's.

    Trains for as long as --minutes allows, in stretches that end with a score on SQuAD's dev set, and
    saves its state every few minutes: run the same command again to go on. Then the best weights
    (moving averages) answer all dev questions, and RESULTS gets the official scores, the curve, the
    config, versions, hardware and time, and the ten best answers to each question. SQuAD and GloVe are downloaded, or taken from FOLDER
    (squad/train-v1.1.json, squad/dev-v1.1.json, glove/glove.6B.100d*.txt, plain or gzipped).

    Example: allennlp bidaf reproduce --minutes 180
             allennlp bidaf reproduce --data ../data --minutes 60 --results results/trial -s runs/trial
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--config",
            default="training_configs/bidaf_squad_adam.jsonnet",
            help="the recipe",
        )
        parser.add_argument("--minutes", type=float, help="time for training (default: no limit)")
        parser.add_argument(
            "--data", metavar="FOLDER", default=os.environ.get("BIDAF_DATA"), help="local data"
        )
        parser.add_argument(
            "-s", "--serialization-dir", default="runs/reproduce", help="where the run goes"
        )
        parser.add_argument("--results", default="results/squad", help="a folder")
        parser.add_argument(
            "--steps-per-score", type=int, default=730, help="730 are half an epoch"
        )
        parser.add_argument(
            "-o", "--overrides", default="", help="a JSON structure that overrides the config"
        )
        # What is loaded is what was trained by the same config.
        parser.set_defaults(trust=True)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.reproduction import write_results
        from bidaf_plugin.training.experiments import make_config
        from bidaf_plugin.training.resumable import train_or_resume

        check_folder(args.results)
        config = make_config(args.config, args.overrides, args.data, args.steps_per_score)
        train_or_resume(config, args.serialization_dir, args.minutes)
        print(write_results(args.serialization_dir, args.results))
