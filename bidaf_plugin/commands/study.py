import argparse
import csv
import io
import json
import os
from glob import glob
from typing import Any, Dict, List, NamedTuple, Tuple

from allennlp.common import Params
from overrides import overrides

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
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


class Measurement(NamedTuple):
    """How good a variant is after so many training steps."""

    variant: str
    step: int
    em: float
    f1: float
    loss: float
    training_duration: str


@Action.register("study")
class Study(Action):
    """
    Train several variants with the same seed and budget, and compare them.

    Every variant is trained for the same number of steps on the same data in the same order, and
    scored on the validation data from time to time. The comparison (comparison.csv, .md, .png, .svg) is
    written anew after each variant. What was interrupted goes on when the same command is run again.

    Example: allennlp bidaf study training_configs/variants -s runs/study --steps 2000
             allennlp bidaf study bidaf no_c2q_attention beta_mlp -s runs/small --steps 300
                 -o '{"dataset_reader.max_instances": 8000}'
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "variants",
            nargs="+",
            help=f"config files, folders of them, or names of files in {VARIANTS_FOLDER}",
        )
        parser.add_argument("-s", "--serialization-dir", required=True, help="where the runs go")
        parser.add_argument("--steps", type=int, required=True, help="training steps per variant")
        parser.add_argument(
            "--evaluations", type=int, default=5, help="how often each is scored (default = 5)"
        )
        parser.add_argument(
            "-o", "--overrides", default="", help="a JSON structure that overrides all configs"
        )

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        if args.steps < 1 or args.evaluations < 1 or args.steps % args.evaluations:
            raise DataError(
                f"--steps ({args.steps}) must be a multiple of --evaluations ({args.evaluations})"
            )
        variants = find_variants(args.variants)
        for number, (name, path) in enumerate(variants.items(), start=1):
            print(f"[{number}/{len(variants)}] {name}", flush=True)
            folder = os.path.join(args.serialization_dir, name)
            config = Params.from_file(path, args.overrides)
            train_variant(config, folder, args.steps, args.evaluations)
            write_comparison(args.serialization_dir, list(variants))
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


def train_variant(config: Params, folder: str, steps: int, evaluations: int) -> None:
    """Trains for `steps` steps, or goes on where an earlier call was interrupted."""
    params: Dict[str, Any] = config.as_dict(quiet=True)
    for key in ("model", "data_loader", "trainer"):
        if key not in params:
            raise DataError(f"the config of {os.path.basename(folder)!r} has no key {key!r}")
    # What AllenNLP calls an epoch is the stretch between two evaluations here.
    params["data_loader"]["batches_per_epoch"] = steps // evaluations
    params["trainer"]["num_epochs"] = params["trainer"]["patience"] = evaluations
    train_or_resume(params, folder)


def read_measurements(folder: str, variant: str) -> List[Measurement]:
    """What the run of a variant has measured so far."""
    measurements = []
    run = os.path.join(folder, variant)
    if not os.path.exists(os.path.join(run, "config.json")):
        return []
    with open(os.path.join(run, "config.json"), encoding="utf-8") as file:
        steps_per_epoch = json.load(file)["data_loader"]["batches_per_epoch"]
    for path in glob(os.path.join(run, "metrics_epoch_*.json")):
        with open(path, encoding="utf-8") as file:
            metrics = json.load(file)
        measurements.append(
            Measurement(
                variant,
                steps_per_epoch * (metrics["epoch"] + 1),
                metrics["validation_em"],
                metrics["validation_f1"],
                metrics["validation_loss"],
                metrics["training_duration"],
            )
        )
    return sorted(measurements, key=lambda measurement: measurement.step)


def write_comparison(folder: str, variants: List[str]) -> None:
    """Writes comparison.csv, .md, .png and .svg from the runs in `folder`."""
    curves = {variant: read_measurements(folder, variant) for variant in variants}
    curves = {variant: curve for variant, curve in curves.items() if curve}
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow(Measurement._fields)
    for curve in curves.values():
        writer.writerows(curve)
    write_atomically(os.path.join(folder, "comparison.csv"), table.getvalue())
    write_atomically(os.path.join(folder, "comparison.md"), format_comparison(curves))
    plot_curves(curves, os.path.join(folder, "comparison"))


def format_comparison(curves: Dict[str, List[Measurement]]) -> str:
    """A markdown table, best F1 first, with the paper's scores where it has them."""
    lines = ["| variant | steps | EM | F1 | paper's EM | paper's F1 |", "|---|---|---|---|---|---|"]
    for curve in sorted(curves.values(), key=lambda curve: -curve[-1].f1):
        last = curve[-1]
        paper = [f"{score:.1f}" for score in PAPER_SCORES.get(last.variant, ())] or ["", ""]
        lines.append(
            f"| {last.variant} | {last.step:,} | {last.em:.2f} | {last.f1:.2f} | {' | '.join(paper)} |"
        )
    return "\n".join(lines) + "\n"


def plot_curves(curves: Dict[str, List[Measurement]], path: str) -> None:
    """EM and F1 by step, as PNG and SVG."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 2, figsize=(12, 5), sharex=True)
    colors = pyplot.get_cmap("tab20").colors  # type: ignore[attr-defined]
    ranked = sorted(curves.values(), key=lambda curve: -curve[-1].f1)
    for axis, score in zip(axes, ("em", "f1"), strict=True):
        for index, curve in enumerate(ranked):
            steps = [measurement.step for measurement in curve]
            scores = [getattr(measurement, score) for measurement in curve]
            label = curve[-1].variant.replace("_", " ")
            color = colors[index % len(colors)]
            axis.plot(steps, scores, marker="o", markersize=3, color=color, label=label)
        axis.set_xlabel("training steps")
        axis.set_title("EM" if score == "em" else "F1")
        axis.set_ylim(bottom=0)
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("validation score, percent")
    if len(curves) > 1:
        axes[1].legend(loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    figure.tight_layout()
    for extension in ("png", "svg"):
        figure.savefig(f"{path}.{extension}", dpi=150, bbox_inches="tight")
    pyplot.close(figure)
