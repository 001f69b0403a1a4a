import argparse
import os

from overrides import overrides

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_folder
from bidaf_plugin.training.experiments import (
    VARIANTS_FOLDER,
    find_variants,
    load_configs,
    train_variant,
)


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
    paper is larger than that between seeds.

    Example: allennlp bidaf study training_configs/variants -s runs/study --steps 2000
             allennlp bidaf study --finished results/runs
             allennlp bidaf study bidaf no_c2q_attention beta_mlp -s runs/small --steps 300
                 -o '{"dataset_reader.max_instances": 8000}'
    """

    @overrides
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
            "-o", "--overrides", default="", help="a JSON structure that overrides all configs"
        )

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.finished_runs import (
            format_variants,
            read_finished_runs,
            summarize_variants,
        )
        from bidaf_plugin.analysis.reproduction import PAPER_SCORES, write_comparison

        if args.finished is not None:
            runs = read_finished_runs(args.finished)
            print(format_variants(summarize_variants(runs, list(PAPER_SCORES)), PAPER_SCORES))
            return
        if not args.variants or args.serialization_dir is None or args.steps is None:
            raise DataError("give VARIANTS, --serialization-dir and --steps, or --finished")
        if args.steps < 1 or args.evaluations < 1 or args.steps % args.evaluations:
            raise DataError(
                f"--steps ({args.steps}) must be a multiple of --evaluations ({args.evaluations})"
            )
        check_folder(args.serialization_dir)
        configs = load_configs(find_variants(args.variants), args.overrides)
        for number, (name, config) in enumerate(configs.items(), start=1):
            print(f"[{number}/{len(configs)}] {name}", flush=True)
            folder = os.path.join(args.serialization_dir, name)
            train_variant(config, folder, args.steps, args.evaluations)
            comparison = write_comparison(args.serialization_dir, list(configs))
        print(comparison)
