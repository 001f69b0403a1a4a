"""
Actions that train more than `allennlp train` does: the paper's model beside the paper's scores, variants, and
ensembles.
"""

import argparse
import json
import os
from typing import Any, Dict, Iterator, List, Optional

from allennlp.common import Params

from bidaf_plugin.analysis.answering import answer_together, format_scores, score_together
from bidaf_plugin.analysis.files import read_gold_paragraphs, write_json
from bidaf_plugin.archives.ensemble import write_ensemble_archive
from bidaf_plugin.cluster.connection import ClusterOptions
from bidaf_plugin.commands.action import (
    Action,
    add_cluster_options,
    add_overrides,
    cluster_options,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_folder
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.modules.ensemble_rules import EnsembleRule
from bidaf_plugin.training.runs import (
    VARIANTS_FOLDER,
    find_variants,
    load_configs,
    member_params,
    train_runs,
    train_variant,
    variant_params,
)


@Action.register("reproduce")
class Reproduce(Action):
    """
    Train the paper's model on SQuAD, and put its scores beside the paper's.

    Trains for as long as --minutes allows, in stretches that end with a score on SQuAD's dev set, and
    saves its state every few minutes: run the same command again to go on. Then the best weights
    (moving averages) answer all dev questions, and RESULTS gets the official scores, the curve, the
    config, versions, hardware and time, and the ten best answers to each question. SQuAD and GloVe are
    downloaded, or taken from FOLDER (squad/train-v1.1.json, squad/dev-v1.1.json,
    glove/glove.6B.100d*.txt, plain or gzipped).

    Example: allennlp bidaf reproduce --minutes 180
             allennlp bidaf reproduce --data ../data --minutes 60 --results results/trial -s runs/trial
             allennlp bidaf reproduce --config training_configs/variants/alpha_dot.jsonnet
                 --recipe training_configs/lib/recipe.libsonnet -s runs/alpha_dot --results results/runs/alpha_dot
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--config", default="training_configs/bidaf_squad_adam.jsonnet", help="the recipe"
        )
        parser.add_argument(
            "--recipe",
            metavar="FILE",
            help="choices in place of those of the config: a jsonnet object",
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
        add_overrides(parser)
        # What is loaded is what was trained by the same config.
        parser.set_defaults(trust=True)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.reproduction import write_results
        from bidaf_plugin.training.runs import make_config, train_or_resume

        check_folder(args.results)
        config = make_config(
            args.config, args.overrides, args.data, args.steps_per_score, args.recipe
        )
        train_or_resume(config, args.serialization_dir, args.minutes)
        print(write_results(args.serialization_dir, args.results))


@Action.register("study")
class Study(Action):
    """
    Train several variants with the same seed and budget, and compare them.

    Every variant is trained for the same number of steps on the same data in the same order, and
    scored on the validation data from time to time. All of them give spans, or all are cloze models. The
    comparison (comparison.csv, .md, .png, .svg) is written anew after each variant. What was interrupted
    goes on when the same command is run again.

    --finished makes the table of the paper's variants from runs that `allennlp bidaf reproduce` has finished,
    wherever that was, and trains nothing: FOLDER has a folder for each, called by its variant, and further
    seeds with a number behind (bidaf, bidaf-2). What is missing is said, and whether a difference from the
    paper is larger than that between seeds. With --results it is written there
    as variants.md, beside a plot (variants.png, .svg).

    Example: allennlp bidaf study training_configs/variants -s runs/study --steps 2000
             allennlp bidaf study --finished results/runs --results results/paper
             allennlp bidaf study bidaf no_c2q_attention beta_mlp -s runs/small --steps 300
                 -o '{"dataset_reader.max_instances": 8000}'
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "variants",
            nargs="*",
            help=f"config files, folders of them, or names of files in {VARIANTS_FOLDER}",
        )
        parser.add_argument("-s", "--serialization-dir", help="where the runs go")
        parser.add_argument("--steps", type=int, help="training steps per variant")
        parser.add_argument("--finished", metavar="FOLDER", help="finished runs: see above")
        parser.add_argument("--evaluations", type=int, default=5, help="how often each is scored")
        parser.add_argument(
            "--results", metavar="FOLDER", help="where the table of --finished and a plot of it go"
        )
        add_overrides(parser, "all configs")
        add_cluster_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.reproduction import write_comparison, write_finished

        check_folder(args.results)
        if args.finished is not None:
            print(write_finished(args.finished, args.results))
            return
        if args.results is not None:
            raise DataError("--results is for --finished; a study writes to --serialization-dir")
        if not args.variants or args.serialization_dir is None or args.steps is None:
            raise DataError("give VARIANTS, --serialization-dir and --steps, or --finished")
        if args.steps < 1 or args.evaluations < 1 or args.steps % args.evaluations:
            raise DataError(
                f"--steps ({args.steps}) must be a multiple of --evaluations ({args.evaluations})"
            )
        options = cluster_options(args)
        check_folder(args.serialization_dir)
        configs = load_configs(find_variants(args.variants), args.overrides)
        for _ in self._train(args, configs, options):
            comparison = write_comparison(args.serialization_dir, list(configs))
        print(comparison)

    def _train(
        self,
        args: argparse.Namespace,
        configs: Dict[str, Dict[str, Any]],
        options: Optional[ClusterOptions],
    ) -> Iterator[str]:
        """Trains the variants, and gives their names as they end."""
        if options is not None:
            from bidaf_plugin.cluster.training import train_on_cluster

            runs = {
                name: variant_params(config, args.steps, args.evaluations)
                for name, config in configs.items()
            }
            yield from train_on_cluster(runs, args.serialization_dir, options)
            return
        for number, (name, config) in enumerate(configs.items(), start=1):
            print(f"[{number}/{len(configs)}] {name}", flush=True)
            folder = os.path.join(args.serialization_dir, name)
            train_variant(config, folder, args.steps, args.evaluations)
            yield name


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
        add_overrides(parser)
        add_cluster_options(parser)
        parser.add_argument(
            "--cuda-device", type=int, default=-1, help="the GPU for the scores; -1 for none"
        )
        # What is loaded is what was trained by the same config.
        parser.set_defaults(trust=True)

    def run(self, args: argparse.Namespace) -> None:
        config = Params.from_file(args.config, args.overrides).as_dict(quiet=True)
        data = args.data or config.get("validation_data_path")
        if data is None:
            raise DataError("the config has no validation data: give a SQuAD file with --data")
        # Before anything is trained.
        options = cluster_options(args)
        paragraphs = read_gold_paragraphs(data)
        try:
            if options is None:
                archives = train_runs(config, args.serialization_dir, args.num_models)
            else:
                archives = self._train_on_cluster(args, config, options)
        except KeyboardInterrupt:
            raise SystemExit("Interrupted: the same command goes on where it stopped.") from None
        print(report(archives, paragraphs, args.serialization_dir, args.cuda_device))

    def _train_on_cluster(
        self, args: argparse.Namespace, config: Dict[str, Any], options: ClusterOptions
    ) -> List[str]:
        from bidaf_plugin.cluster.training import train_on_cluster

        runs = member_params(config, args.num_models)
        for _ in train_on_cluster(runs, args.serialization_dir, options):
            pass
        return [os.path.join(args.serialization_dir, name, "model.tar.gz") for name in runs]


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
        write_json(os.path.join(folder, f"predictions.{rule}.json"), predictions)
    write_atomically(
        os.path.join(folder, "scores.json"),
        json.dumps([score._asdict() for score in scores], indent=2),
    )
    write_atomically(os.path.join(folder, "scores.txt"), table + "\n")
    write_ensemble_archive(archives, "votes", os.path.join(folder, "model.tar.gz"))
    return table
