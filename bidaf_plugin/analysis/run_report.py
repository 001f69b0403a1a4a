"""
The page that `allennlp bidaf report` writes of a training run, and the table of the parameters of configs.
"""

import json
import os
from copy import deepcopy
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

import torch
from allennlp.common import Params
from allennlp.data import Vocabulary
from allennlp.models import Model
from allennlp.models.model import remove_weights_related_keys_from_params
from matplotlib.figure import Figure

from bidaf_plugin.analysis.answering import answer_paragraphs
from bidaf_plugin.analysis.attention import AttentionSummary, find_attention, summarize_attention
from bidaf_plugin.analysis.figures import COLORS, draw_curves, figure_as_svg, new_figure
from bidaf_plugin.analysis.files import questions_of, read_gold_paragraphs, read_predictions
from bidaf_plugin.analysis.formats import align_columns, render
from bidaf_plugin.analysis.scores import break_down, score_questions, summarize
from bidaf_plugin.analysis.training_run import TrainingRun, metric_label
from bidaf_plugin.analysis.wrong_answers import AnsweredQuestion, answered_questions, draw_sample
from bidaf_plugin.archives.config_check import check_config
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.archives.size_check import parameters_at_most
from bidaf_plugin.archives.trust import is_trusted
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph

Row = Tuple[str, ...]

# By the data that curves are of. They are the same on light and on dark paper.
_COLORS = {"training": COLORS[0], "validation": COLORS[1]}
# No model is larger. It is only counted.
_MAX_BYTES = 16 * 1024**3


class AnswerReport(NamedTuple):
    """What a model answers to the questions of some data."""

    # The name of the data.
    data: str
    # The official ones.
    scores: Dict[str, float]
    # By aspect, the rows of a table of groups of questions: label, number of questions, EM and F1.
    breakdown: Dict[str, List[Row]]
    # Some questions, and some whose answers are no exact match.
    sample: List[AnsweredQuestion]
    wrong: List[AnsweredQuestion]
    # How many there are of those in all, and of those that overlap with a gold answer.
    num_wrong: int
    num_overlapping: int
    # What the model attends to, by question id, where it is known.
    attention: Dict[str, AttentionSummary] = {}


def answer_data(
    run: TrainingRun,
    data: str,
    predictions_file: Optional[str],
    cuda_device: int,
    num_samples: int,
    seed: int,
) -> AnswerReport:
    """The answers of the run's model, with what it attends to, or those that are given."""
    paragraphs = read_gold_paragraphs(data)
    if predictions_file is not None:
        predictions = read_predictions(predictions_file)
        return report_answers(data, paragraphs, predictions, num_samples, seed)
    if run.model_path is None:
        raise DataError(f"{run.folder}: there is no model yet that could answer the questions")
    predictor = load_span_predictor(run.model_path, cuda_device)
    records = answer_paragraphs(predictor, paragraphs)
    predictions = {record["id"]: record["best_span_str"] for record in records}
    report = report_answers(data, paragraphs, predictions, num_samples, seed)
    try:
        found = [find_attention(predictor, q.question, q.passage_text, q.id) for q in report.sample]
    except DataError:
        # The model has no attention layer to look into.
        return report
    return report._replace(attention={item.id: summarize_attention(item) for item in found})


def report_answers(
    data: str,
    paragraphs: Sequence[Paragraph],
    predictions: Mapping[str, str],
    num_samples: int = 8,
    seed: int = 0,
) -> AnswerReport:
    """Scores the predictions and draws samples of them."""
    scores = score_questions(questions_of(paragraphs), predictions)
    answered = answered_questions(paragraphs, predictions)
    wrong = [question for question in answered if question.em < 1]
    return AnswerReport(
        os.path.basename(data),
        summarize(scores),
        {
            aspect: [
                (g.label, f"{g.num_questions:,}", f"{g.em:.2f}", f"{g.f1:.2f}") for g in groups
            ]
            for aspect, groups in break_down(scores).items()
        },
        draw_sample(answered, num_samples, seed),
        draw_sample(wrong, num_samples, seed),
        len(wrong),
        sum(question.has_overlap for question in wrong),
    )


def report_as_html(run: TrainingRun, answers: Optional[AnswerReport] = None) -> str:
    """The page, with as much as there is."""
    parameters, no_parameters = count_parameters(run.config)
    return render(
        "report.html",
        title=f"Training run {os.path.basename(os.path.abspath(run.folder))}",
        facts=list_facts(run),
        charts=[(label, figure_as_svg(figure)) for label, figure in draw_charts(run)],
        metrics=tabulate_epochs(run),
        parameters=parameters,
        no_parameters=no_parameters,
        answers=answers,
        problems=run.problems,
        config=json.dumps(run.config, indent=2, ensure_ascii=False),
    )


def list_facts(run: TrainingRun) -> List[Tuple[str, str]]:
    """What to know of a run first: name and value."""
    last = run.metrics or (run.epochs[-1] if run.epochs else {})
    trainer = run.config.get("trainer")
    trainer = trainer if isinstance(trainer, dict) else {}
    num_epochs = trainer.get("num_epochs")
    planned = f" of at most {num_epochs}" if num_epochs else ""
    facts = [
        ("state", "ended" if run.metrics else "in progress, or interrupted"),
        ("epochs", f"{len(run.epochs)}{planned}"),
    ]
    if "best_epoch" in last:
        best = [
            f"{metric_label(key.removeprefix('best_validation_'))} {value:.4g}"
            for key, value in last.items()
            if key.startswith("best_validation_") and isinstance(value, (int, float))
        ]
        facts.append(("best epoch", f"{last['best_epoch']} ({', '.join(best)})"))
    if "training_duration" in last:
        facts.append(("training time", str(last["training_duration"]).partition(".")[0]))
    memory = [
        value
        for key, value in last.items()
        if key.startswith("peak_") and "memory" in key and isinstance(value, (int, float))
    ]
    if memory:
        facts.append(("largest memory", f"{max(memory):,.0f} MB"))
    for key in ("train_data_path", "validation_data_path"):
        if run.config.get(key):
            facts.append((key.removesuffix("_path").replace("_", " "), str(run.config[key])))
    # AllenNLP takes the bare name as well.
    optimizer = trainer.get("optimizer")
    optimizer = dict(optimizer) if isinstance(optimizer, dict) else {"type": optimizer or ""}
    name = str(optimizer.pop("type", ""))
    facts.append(("optimizer", ", ".join([name, *(f"{k} {v}" for k, v in optimizer.items())])))
    facts.append(("AllenNLP", run.version or "unknown"))
    return facts


def draw_charts(run: TrainingRun) -> List[Tuple[str, Figure]]:
    """For each metric its label and a chart with a curve for training and one for validation."""
    charts = []
    for name, curves in run.curves().items():
        drawn = {data: curves[data] for data in _COLORS if curves.get(data)}
        if drawn:
            figure = new_figure(3.4, 2.2)
            axes = figure.add_subplot()
            draw_curves(axes, drawn, [_COLORS[data] for data in drawn])
            axes.spines[:].set_visible(False)
            axes.tick_params(length=0, labelsize=8)
            axes.legend(fontsize=8, frameon=False)
            charts.append((metric_label(name), figure))
    return charts


def tabulate_epochs(run: TrainingRun) -> List[Row]:
    """A row for each epoch with all that was measured, below a header."""
    columns = [(data, name) for name, curves in run.curves().items() for data in sorted(curves)]
    header = ["epoch", *(f"{data} {metric_label(name)}" for data, name in columns), "time"]
    rows = [tuple(header)]
    best_epoch = (run.epochs[-1] if run.epochs else {}).get("best_epoch")
    for metrics in run.epochs:
        values = [metrics.get(f"{data}_{name}") for data, name in columns]
        shown = [f"{value:.4g}" if isinstance(value, (int, float)) else "" for value in values]
        epoch = f"{metrics['epoch']}{' (best)' if metrics['epoch'] == best_epoch else ''}"
        time = str(metrics.get("training_duration", "")).partition(".")[0]
        rows.append((epoch, *shown, time))
    return rows


def count_parameters(config: Dict[str, Any]) -> Tuple[List[Row], str]:
    """The rows of a table of layers, or why there is none."""
    try:
        if "members" in (config.get("model") or {}):
            raise DataError("this is an ensemble; the parameters are those of its members")
        if not is_trusted():
            check_config(config, "this run")
        with parameters_at_most(_MAX_BYTES, "this run"):
            counts = count_parameters_by_layer(Params(deepcopy(config)))
    except Exception as error:
        # A config that makes no sense fails anywhere.
        return [], str(error)
    rows = [(layer.replace("_", " "), f"{count:,}") for layer, count in counts.items()]
    return [*rows, ("in all", f"{sum(counts.values()):,}")], ""


def count_parameters_by_layer(config: Params) -> Dict[str, int]:
    """The trainable parameters of each layer of a model, without word and character vectors."""
    if "model" not in config:
        raise DataError("the config has no key 'model'")
    model_params = config["model"]
    remove_weights_related_keys_from_params(model_params)
    # Where tensors have shapes and take no memory.
    with torch.device("meta"):
        model = Model.from_params(vocab=Vocabulary.empty(), params=model_params)
    counts: Dict[str, int] = {}
    for name, parameter in model.named_parameters():
        is_vector_of_vocabulary = name.endswith((".trained", "embedding._module.weight"))
        if parameter.requires_grad and not is_vector_of_vocabulary:
            layer = name.split(".")[0].strip("_")
            counts[layer] = counts.get(layer, 0) + parameter.numel()
    return counts


def format_table(names: List[str], counts: List[Dict[str, int]]) -> str:
    """One row per layer and one column per config."""
    layers = dict.fromkeys(layer for column in counts for layer in column)
    rows = [["", *(name.rpartition("/")[2] for name in names)]]
    for layer in layers:
        rows.append([layer, *(f"{column.get(layer, 0):,}" for column in counts)])
    rows.append(["total", *(f"{sum(column.values()):,}" for column in counts)])
    return align_columns(rows)
