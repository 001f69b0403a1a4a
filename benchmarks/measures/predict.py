from random import Random
from statistics import median
from typing import List

from benchmarks.data import json_lines, list_questions
from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.systems import BenchmarkError, System, time_allennlp
from benchmarks.workspace import Workspace


def measure_predict(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """
    Questions/s of `allennlp predict` from JSON lines to a file of answers, with all options at their
    defaults. What the same command takes for a single line is start-up and is subtracted.
    """
    ids = [question.id for question in list_questions(workspace.dev)]
    chosen = Random(0).sample(ids, min(plan.num_lines, len(ids)))
    lines = json_lines(workspace.dev, chosen)
    one_line = workspace.write_lines("one_question.jsonl", lines[:1])
    all_lines = workspace.write_lines("questions.jsonl", lines)
    wholes, startups = plan.no_values(), plan.no_values()
    for system in plan.systems:
        workspace.archive(system)
    for round_number in range(plan.rounds):
        say(f"predict, round {round_number + 1} of {plan.rounds}")
        for system in plan.in_turn(round_number):
            startups[system.name].append(_predict(workspace, system, one_line, 1))
            wholes[system.name].append(_predict(workspace, system, all_lines, len(lines)))
    rates = {
        name: [(len(lines) - 1) / net for net in _without_startup(seconds, startups[name])]
        for name, seconds in wholes.items()
    }
    note = f"`allennlp predict`, {len(lines):,} lines, without start-up"
    findings.add("predict", "prediction", "questions/s", rates, note=note)
    note = "`allennlp predict` with one line"
    findings.add(
        "predict_startup", "one prediction", "s", startups, more_is_better=False, note=note
    )


def _without_startup(wholes: List[float], startups: List[float]) -> List[float]:
    """On a machine that is busy otherwise, noise can be more than the difference: no value then."""
    startup = median(startups)
    for whole in wholes:
        if whole <= startup:
            say(f"predict: {whole:.1f} s in all, but {startup:.1f} s to start: a value is left out")
    return [whole - startup for whole in wholes if whole > startup]


def _predict(workspace: Workspace, system: System, path: str, num_lines: int) -> float:
    output_file = workspace.settings.folder_of(system) / "answers.jsonl"
    arguments = ["predict", workspace.archive(system), path]
    arguments += ["--output-file", str(output_file), "--silent"]
    seconds = time_allennlp(system, workspace.settings, *arguments)
    with open(output_file, encoding="utf-8") as file:
        num_answers = sum(1 for _ in file)
    if num_answers != num_lines:
        raise BenchmarkError(f"{system.title} gave {num_answers} answers to {num_lines} questions")
    return seconds
