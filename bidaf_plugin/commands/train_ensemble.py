import argparse
import json
import os
from typing import List, Optional

from allennlp.common import Params
from overrides import overrides

from bidaf_plugin.analysis.ensemble import answer_together, format_scores, score_together
from bidaf_plugin.analysis.prediction_files import write_predictions
from bidaf_plugin.analysis.squad_files import read_gold_paragraphs
from bidaf_plugin.archives.ensemble import write_ensemble_archive
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import EnsembleRule
from bidaf_plugin.training.experiments import train_runs


@Action.register("train-ensemble")
class TrainEnsemble(Action):
    """
    Train a model several times with different seeds, and score the runs alone and together.

    The runs are DIR/run_1, DIR/run_2 and so on, the first with the seeds of the config. When all are
    there, DIR gets scores.json, scores.txt, the predictions by each rule and model.tar.gz, the archive
    of the ensemble. What was interrupted goes on when the same command is run again.

    Example: allennlp bidaf train-ensemble training_configs/bidaf_squad.jsonnet -s runs/ensemble
             allennlp bidaf train-ensemble training_configs/bidaf_quickstart.jsonnet -s runs/three -n 3
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("config", help="the config of a span model")
        parser.add_argument(
            "-s", "--serialization-dir", metavar="DIR", required=True, help="where the runs go"
        )
        parser.add_argument(
            "-n", "--num-models", type=int, default=12, help="how many; the paper has 12"
        )
        parser.add_argument(
            "--data", help="a SQuAD file to score on (default: the config's validation data)"
        )
        parser.add_argument(
            "-o", "--overrides", default="", help="a JSON structure that overrides the config"
        )
        parser.add_argument(
            "--cuda-device",
            type=int,
            default=-1,
            help="the GPU for the scores; -1 for none",
        )
        # What is loaded is what was trained by the same config.
        parser.set_defaults(trust=True)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        config = Params.from_file(args.config, args.overrides).as_dict(quiet=True)
        paragraphs = read_scored(args.data or config.get("validation_data_path"))
        try:
            archives = train_runs(config, args.serialization_dir, args.num_models)
        except KeyboardInterrupt:
            raise SystemExit("Interrupted: the same command goes on where it stopped.") from None
        print(report(archives, paragraphs, args.serialization_dir, args.cuda_device))


def read_scored(data: Optional[str]) -> List[Paragraph]:
    """What to score on, read before anything is trained."""
    if data is None:
        raise DataError("the config has no validation data: give a SQuAD file with --data")
    return read_gold_paragraphs(data)


def report(
    archives: List[str], paragraphs: List[Paragraph], folder: str, cuda_device: int = -1
) -> str:
    """Scores the archives, writes all results into `folder` and returns the table."""
    rules = EnsembleRule.list_available()
    answers = answer_together(
        archives, paragraphs, rules, one_at_a_time=True, cuda_device=cuda_device
    )
    scores = score_together(answers, paragraphs)
    table = format_scores(scores)
    for rule, predictions in answers.together.items():
        write_predictions(os.path.join(folder, f"predictions.{rule}.json"), predictions)
    write_atomically(
        os.path.join(folder, "scores.json"),
        json.dumps([score._asdict() for score in scores], indent=2),
    )
    write_atomically(os.path.join(folder, "scores.txt"), table + "\n")
    write_ensemble_archive(archives, "votes", os.path.join(folder, "model.tar.gz"))
    return table
