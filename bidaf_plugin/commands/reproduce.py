import argparse
import json
import os
import platform
from datetime import timedelta
from glob import glob
from importlib.metadata import version
from typing import Any, Dict, List, Optional

import torch
from allennlp.common import Params
from overrides import overrides

from bidaf_plugin.analysis.variants import Measurement, plot_curves, read_measurements
from bidaf_plugin.commands.action import Action
from bidaf_plugin.commands.study import PAPER_SCORES
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_folder

# Of its training data.
QUESTIONS_OF_SQUAD = 87_599
_SECONDS_BETWEEN_CHECKPOINTS = 300


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
        check_folder(args.results)
        config = make_config(args.config, args.overrides, args.data, args.steps_per_score)
        train(config, args.serialization_dir, args.minutes)
        print(write_results(args.serialization_dir, args.results))


def make_config(
    path: str,
    overrides: str = "",
    data: Optional[str] = None,
    steps_per_score: Optional[int] = 730,
) -> Dict[str, Any]:
    """
    The experiment of a config file, on the files of the folder `data` if it is given, with a score
    every so many steps, or where the config has them.
    """
    if not os.path.isfile(path):
        raise DataError(f"{path} is not here: run this in the root of the repository")
    if steps_per_score is not None and steps_per_score < 1:
        raise DataError(f"the steps per score must be 1 or more, not {steps_per_score}")
    config = Params.from_file(path, overrides).as_dict(quiet=True)
    if data:
        config["train_data_path"] = _find(data, "squad/train-v1.1.json*")
        config["validation_data_path"] = _find(data, "squad/dev-v1.1.json*")
        glove = _find(data, "glove/glove.6B.100d*.txt*")
        config["vocabulary"]["pretrained_files"]["tokens"] = glove
        embedders = config["model"]["text_field_embedder"]["token_embedders"]
        embedders["tokens"]["pretrained_file"] = glove
    if steps_per_score is not None:
        # What AllenNLP calls an epoch is the stretch between two scores here.
        config["data_loader"]["batches_per_epoch"] = steps_per_score
    config["trainer"].setdefault("checkpointer", {}).setdefault(
        "save_every_num_seconds", _SECONDS_BETWEEN_CHECKPOINTS
    )
    return config


def _find(folder: str, pattern: str) -> str:
    found = sorted(glob(os.path.join(folder, pattern)))
    if not found:
        raise DataError(f"{folder}: there is no {pattern.rstrip('*')} in it, plain or gzipped")
    return found[0]


def train(config: Dict[str, Any], folder: str, minutes: Optional[float] = None) -> None:
    """Trains as long as there is time, or goes on where an earlier call ended."""
    # Heavy, and only needed here.
    from allennlp.commands.train import train_model
    from allennlp.models.archival import archive_model

    from bidaf_plugin.training.time_budget_callback import time_budget

    is_begun = os.path.exists(os.path.join(folder, "config.json"))
    if not os.path.exists(os.path.join(folder, "metrics.json")):
        with time_budget(minutes):
            train_model(Params(config), folder, recover=is_begun, file_friendly_logging=True)
    if not os.path.exists(os.path.join(folder, "best.th")):
        raise DataError(f"{folder}: there was no time for a single score; run again to go on")
    archive_model(folder)


def write_results(run: str, folder: str) -> str:
    """
    Answers all dev questions with the best weights of a run, and writes metrics.json, curve.csv, .png
    and .svg, README.md and the ten best answers to each question, predictions.nbest.json.gz, into a folder:
    what is worth keeping of a run.

    # Returns

    `str`
        The text of README.md.
    """
    from bidaf_plugin.analysis.answering import find_best_spans
    from bidaf_plugin.analysis.prediction_files import write_nbest
    from bidaf_plugin.analysis.score_report import report_as_json, score_file
    from bidaf_plugin.analysis.squad_files import passages_of, read_gold_paragraphs
    from bidaf_plugin.archives.load import load_span_predictor

    with open(os.path.join(run, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    paragraphs = read_gold_paragraphs(config["validation_data_path"])
    predictor = load_span_predictor(os.path.join(run, "model.tar.gz"))
    os.makedirs(folder, exist_ok=True)
    nbest = os.path.join(folder, "predictions.nbest.json.gz")
    write_nbest(nbest, find_best_spans(predictor, paragraphs))
    questions = [question for paragraph in paragraphs for question in paragraph.questions]
    scored = score_file(questions, nbest, passages=passages_of(paragraphs))
    curve = read_measurements(os.path.dirname(run) or ".", os.path.basename(run))
    facts = {
        **describe_run(config, curve),
        "em": scored.summary["exact_match"],
        "f1": scored.summary["f1"],
        "questions": scored.summary["total"],
        "breakdown": report_as_json("", [scored], {})["files"][0]["breakdown"],
        "config": _without_folders(config),
    }
    write_atomically(os.path.join(folder, "metrics.json"), json.dumps(facts, indent=2) + "\n")
    lines = ["step,em,f1,loss"] + [
        f"{m.step},{m.scores['em']},{m.scores['f1']},{m.loss}" for m in curve
    ]
    write_atomically(os.path.join(folder, "curve.csv"), "\n".join(lines) + "\n")
    plot_curves({"bidaf": curve}, os.path.join(folder, "curve"))
    text = format_results(facts)
    write_atomically(os.path.join(folder, "README.md"), text)
    return text


def describe_run(config: Dict[str, Any], curve: List[Measurement]) -> Dict[str, Any]:
    """How the scores of a run came about."""
    best = max(curve, key=lambda measurement: measurement.main_score)
    batch_size = config["data_loader"]["batch_sampler"]["batch_size"]
    minutes = training_minutes(curve)
    return {
        "steps": curve[-1].step,
        "best_step": best.step,
        "batch_size": batch_size,
        "optimizer": config["trainer"]["optimizer"],
        "seed": config["random_seed"],
        "epochs": round(curve[-1].step * batch_size / QUESTIONS_OF_SQUAD, 2),
        "minutes": round(minutes, 1),
        "examples_per_second": round(curve[-1].step * batch_size / (60 * minutes), 1),
        "hardware": {"cores": os.cpu_count(), "machine": platform.machine(), "gpu": _gpu()},
        "versions": {
            name: version(name) for name in ("allennlp", "torch", "spacy", "bidaf_plugin")
        },
    }


def training_minutes(curve: List[Measurement]) -> float:
    """The time of all sittings, each of which AllenNLP times from zero."""
    seconds, previous = 0.0, 0.0
    for measurement in curve:
        duration = _to_seconds(measurement.training_duration)
        seconds += duration - previous if duration > previous else duration
        previous = duration
    return seconds / 60


def _to_seconds(duration: str) -> float:
    """From the text of a `timedelta`, such as "1 day, 2:03:04.5"."""
    days, _, clock = duration.rpartition(", ")
    hours, minutes, seconds = clock.split(":")
    whole = timedelta(hours=int(hours), minutes=int(minutes), seconds=float(seconds))
    return whole.total_seconds() + 86_400 * int(days.split()[0] if days else 0)


def _gpu() -> Optional[str]:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _without_folders(config: Any) -> Any:
    """Files by their names alone: where they were is nobody's business."""
    if isinstance(config, dict):
        return {key: _without_folders(value) for key, value in config.items()}
    if isinstance(config, list):
        return [_without_folders(value) for value in config]
    is_local = isinstance(config, str) and os.path.exists(config)
    return os.path.basename(config) if is_local else config


def format_results(facts: Dict[str, Any]) -> str:
    """A page that says what was reached, and how."""
    paper_em, paper_f1 = PAPER_SCORES["bidaf"]
    return f"""# SQuAD 1.1 dev, single model

| | EM | F1 |
|---|---|---|
| this run | {facts['em']:.2f} | {facts['f1']:.2f} |
| the paper | {paper_em} | {paper_f1} |

Official scores on all {facts['questions']:,} questions, with the weights (moving averages) of step
{facts['best_step']:,}, the best on the same questions. Trained for {facts['steps']:,} steps of
{facts['batch_size']} questions ({facts['epochs']:.1f} epochs) with `{json.dumps(facts['optimizer'])}`, seed
{facts['seed']}, in {facts['minutes']:.0f} minutes on {facts['hardware']['cores']} CPU cores\
{' and ' + facts['hardware']['gpu'] if facts['hardware']['gpu'] else ''}.
`metrics.json` has the scores by kind of question, versions and hardware; `curve.csv` the scores by step.

![EM and F1 by step](curve.png)
"""
