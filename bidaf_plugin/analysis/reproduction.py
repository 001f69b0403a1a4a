"""
What runs have reached beside the paper: the page of a single run, and the table of several variants.
"""

import json
import os
import platform
from datetime import timedelta
from importlib.metadata import version
from typing import Any, Dict, List, Optional

import torch

from bidaf_plugin.analysis import variants
from bidaf_plugin.analysis.answering import find_best_spans
from bidaf_plugin.analysis.files import read_gold_paragraphs, write_nbest
from bidaf_plugin.analysis.formats import markdown_table, write_csv
from bidaf_plugin.analysis.score_report import report_as_json, score_file
from bidaf_plugin.analysis.training_run import metric_label
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json

# Of the training data of SQuAD 1.1.
QUESTIONS_OF_SQUAD = 87_599
# EM and F1 on SQuAD's dev set: Table 1b and the table of Appendix B of the paper.
PAPER_SCORES: Dict[str, variants.Scores] = {
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


def write_results(run: str, folder: str) -> str:
    """
    Answers all dev questions with the best weights of a run, and writes metrics.json, curve.csv, .png
    and .svg, README.md and the ten best answers to each question, predictions.nbest.json.gz, into a folder:
    what is worth keeping of a run. Returns the text of README.md.
    """
    with open(os.path.join(run, "config.json"), encoding="utf-8") as file:
        config = json.load(file)
    paragraphs = read_gold_paragraphs(config["validation_data_path"])
    predictor = load_span_predictor(os.path.join(run, "model.tar.gz"))
    os.makedirs(folder, exist_ok=True)
    nbest = os.path.join(folder, "predictions.nbest.json.gz")
    write_nbest(nbest, find_best_spans(predictor, paragraphs))
    scored = score_file(paragraphs, nbest)
    curve = variants.read_measurements(os.path.dirname(run) or ".", os.path.basename(run))
    # SQuAD 2.0 calls it "exact".
    version = "2.0" if "exact" in scored.summary else "1.1"
    facts = {
        **describe_run(config, curve),
        "version": version,
        "em": scored.summary["exact" if version == "2.0" else "exact_match"],
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
    variants.plot_curves({"bidaf": curve}, os.path.join(folder, "curve"))
    text = format_results(facts)
    write_atomically(os.path.join(folder, "README.md"), text)
    return text


def describe_run(config: Dict[str, Any], curve: List[variants.Measurement]) -> Dict[str, Any]:
    """How the scores of a run came about."""
    best = max(curve, key=lambda measurement: measurement.main_score)
    batch_size = config["data_loader"]["batch_sampler"]["batch_size"]
    minutes = training_minutes(curve)
    num_questions = QUESTIONS_OF_SQUAD
    if config["model"].get("output_layer", {}).get("no_answer"):
        paragraphs = read_squad_json(config["train_data_path"])
        num_questions = sum(len(paragraph.questions) for paragraph in paragraphs)
    return {
        "steps": curve[-1].step,
        "best_step": best.step,
        "batch_size": batch_size,
        "optimizer": config["trainer"]["optimizer"],
        "seed": config["random_seed"],
        "epochs": round(curve[-1].step * batch_size / num_questions, 2),
        "minutes": round(minutes, 1),
        "examples_per_second": round(curve[-1].step * batch_size / (60 * minutes), 1),
        "hardware": {
            "cores": os.cpu_count(),
            "machine": platform.machine(),
            "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        },
        "versions": {
            name: version(name) for name in ("allennlp", "torch", "spacy", "bidaf_plugin")
        },
    }


def training_minutes(curve: List[variants.Measurement]) -> float:
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
    # The paper is older than SQuAD 2.0.
    paper = f"| the paper | {paper_em} | {paper_f1} |\n" if facts["version"] == "1.1" else ""
    return f"""# SQuAD {facts['version']} dev, single model

| | EM | F1 |
|---|---|---|
| this run | {facts['em']:.2f} | {facts['f1']:.2f} |
{paper}
Official scores on all {facts['questions']:,} questions, with the weights (moving averages) of step
{facts['best_step']:,}, the best on the same questions. Trained for {facts['steps']:,} steps of
{facts['batch_size']} questions ({facts['epochs']:.1f} epochs) with `{json.dumps(facts['optimizer'])}`, seed
{facts['seed']}, in {facts['minutes']:.0f} minutes on {facts['hardware']['cores']} CPU cores\
{' and ' + facts['hardware']['gpu'] if facts['hardware']['gpu'] else ''}.
`metrics.json` has the scores by kind of question, versions and hardware; `curve.csv` the scores by step.

![EM and F1 by step](curve.png)
"""


def write_finished(runs: str, folder: Optional[str]) -> str:
    """The table of finished runs beside the paper's; variants.md, .png and .svg if there is a folder for them."""
    found = variants.read_finished_runs(runs)
    table = variants.format_variants(found, PAPER_SCORES)
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "variants")
        write_atomically(f"{path}.md", table)
        variants.plot_finished(found, PAPER_SCORES, path)
    return table


def write_comparison(folder: str, names: List[str]) -> str:
    """Writes comparison.csv, .md, .png and .svg from the runs in `folder`, and returns the table."""
    curves = {name: variants.read_measurements(folder, name) for name in names}
    curves = {name: curve for name, curve in curves.items() if curve}
    write_csv(os.path.join(folder, "comparison.csv"), variants.curve_rows(curves))
    variants.plot_curves(curves, os.path.join(folder, "comparison"))
    table = format_comparison(curves)
    write_atomically(os.path.join(folder, "comparison.md"), table)
    return table


def format_comparison(curves: Dict[str, List[variants.Measurement]]) -> str:
    """A markdown table, the best first, with the paper's scores where it has them."""
    names = variants.score_names(curves)
    labels = [metric_label(name) for name in names]
    # The paper has no table of variants for the cloze test.
    is_span = names == ["em", "f1"]
    paper_labels = [f"paper's {label}" for label in labels] if is_span else []
    rows = [["variant", "steps", *labels, *paper_labels]]
    for curve in variants.ranked(curves):
        last = curve[-1]
        cells = [last.variant, f"{last.step:,}", *(f"{last.scores[name]:.2f}" for name in names)]
        if is_span:
            cells += [f"{score:.1f}" for score in PAPER_SCORES.get(last.variant, ())] or ["", ""]
        rows.append(cells)
    return markdown_table(rows)
