import argparse
import os
from copy import deepcopy
from glob import glob
from typing import Any, Dict, List, Tuple

from allennlp.common import Params
from overrides import overrides

from bidaf_plugin.analysis.variants import (
    Measurement,
    curves_as_csv,
    format_variants,
    plot_curves,
    ranked,
    read_finished_runs,
    read_measurements,
    score_label,
    score_names,
    summarize_variants,
)
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_folder
from bidaf_plugin.training.resumable import train_or_resume

VARIANTS_FOLDER = "training_configs/variants"

# EM and F1 on SQuAD's dev set: Table 1b and the table of Appendix B of the paper.
PAPER_SCORES: Dict[str, Tuple[float, float]] = {
    "bidaf": (67.7, 77.3),
    "no_char_embedding": (65.0, 75.4),
    "no_word_embedding": (55.5, 66.8),
    "no_c2q_attention": (57.2, 67.7),
    "no_q2c_attention": (63.6, 73.7),
    "dynamic_attention": (63.5, 73.6),
    "alpha_dot": (65.5, 75.5),
    "alpha_linear": (59.5, 69.7),
    "alpha_bilinear": (61.6, 71.8),
    "alpha_linear_after_mlp": (66.2, 76.4),
    "beta_mlp": (67.1, 77.0),
}


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
            write_comparison(args.serialization_dir, list(configs))
        with open(os.path.join(args.serialization_dir, "comparison.md"), encoding="utf-8") as file:
            print(file.read())


def find_variants(arguments: List[str]) -> Dict[str, str]:
    """The config files that are meant, by the name of the variant."""
    paths: List[str] = []
    for argument in arguments:
        named = os.path.join(VARIANTS_FOLDER, f"{argument}.jsonnet")
        if os.path.isdir(argument):
            paths += sorted(glob(os.path.join(argument, "*.jsonnet")))
        elif os.path.isfile(argument):
            paths.append(argument)
        elif os.path.isfile(named):
            paths.append(named)
        else:
            known = sorted(glob(os.path.join(VARIANTS_FOLDER, "*.jsonnet")))
            raise DataError(
                f"there is no variant {argument!r}; known are: {', '.join(map(_name, known)) or 'none'}"
            )
    if not paths:
        raise DataError(f"there are no *.jsonnet files in {', '.join(arguments)}")
    names = [_name(path) for path in paths]
    if len(set(names)) < len(names):
        raise DataError(f"two of the variants have the same name: {', '.join(sorted(names))}")
    return dict(zip(names, paths, strict=True))


def _name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def load_configs(variants: Dict[str, str], overrides: str = "") -> Dict[str, Dict[str, Any]]:
    """
    The experiments of all variants. What is wrong with the last one should not be found out when the
    others are trained.
    """
    configs: Dict[str, Dict[str, Any]] = {}
    tasks: Dict[str, str] = {}
    for name, path in variants.items():
        configs[name] = Params.from_file(path, overrides).as_dict(quiet=True)
        if not isinstance(configs[name], dict):
            raise DataError(f"{path}: the config must be a JSON object")
        for key in ("model", "data_loader", "trainer"):
            if key not in configs[name]:
                raise DataError(f"{path}: the config has no key {key!r}")
            if not isinstance(configs[name][key], dict):
                raise DataError(f"{path}: {key!r} must be an object of JSON")
        # AllenNLP takes the bare name as well.
        output_layer = configs[name]["model"].get("output_layer", {})
        is_name = not isinstance(output_layer, dict)
        tasks[str(output_layer if is_name else output_layer.get("type", "span"))] = name
    if len(tasks) > 1:
        of_tasks = " and ".join(f"{task!r} ({name})" for task, name in tasks.items())
        raise DataError(f"models with the output layers {of_tasks} have no common score")
    return configs


def train_variant(config: Dict[str, Any], folder: str, steps: int, evaluations: int) -> None:
    """Trains for `steps` steps, or goes on where an earlier call was interrupted."""
    params = deepcopy(config)
    # What AllenNLP calls an epoch is the stretch between two evaluations here.
    params["data_loader"]["batches_per_epoch"] = steps // evaluations
    params["trainer"]["num_epochs"] = params["trainer"]["patience"] = evaluations
    train_or_resume(params, folder)


def write_comparison(folder: str, variants: List[str]) -> None:
    """Writes comparison.csv, .md, .png and .svg from the runs in `folder`."""
    curves = {variant: read_measurements(folder, variant) for variant in variants}
    curves = {variant: curve for variant, curve in curves.items() if curve}
    write_atomically(os.path.join(folder, "comparison.csv"), curves_as_csv(curves))
    write_atomically(os.path.join(folder, "comparison.md"), format_comparison(curves))
    plot_curves(curves, os.path.join(folder, "comparison"))


def format_comparison(curves: Dict[str, List[Measurement]]) -> str:
    """A markdown table, the best first, with the paper's scores where it has them."""
    names = score_names(curves)
    labels = [score_label(name) for name in names]
    # The paper has no table of variants for the cloze test.
    is_span = names == ["em", "f1"]
    columns = ["variant", "steps", *labels]
    columns += [f"paper's {label}" for label in labels] if is_span else []
    lines = [f"| {' | '.join(columns)} |", "|---" * len(columns) + "|"]
    for curve in ranked(curves):
        last = curve[-1]
        cells = [last.variant, f"{last.step:,}", *(f"{last.scores[name]:.2f}" for name in names)]
        if is_span:
            cells += [f"{score:.1f}" for score in PAPER_SCORES.get(last.variant, ())] or ["", ""]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
