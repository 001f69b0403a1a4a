import json
from random import Random
from statistics import median, quantiles

from benchmarks.data import json_lines, list_questions
from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.workspace import Workspace


def measure_latency(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """Milliseconds for one question, from its text to its answer, in a process that runs already."""
    ids = [question.id for question in list_questions(workspace.dev)]
    per_round = max(plan.num_lines // (4 * plan.rounds), 5)
    chosen = Random(1).sample(ids, min(per_round * plan.rounds, len(ids)))
    records = [json.loads(line) for line in json_lines(workspace.dev, chosen)]
    medians, tails = plan.no_values(), plan.no_values()
    for system in plan.systems:
        with workspace.worker(system) as worker:
            say(f"latency, {system.title}")
            worker.ask("load_predictor", archive=workspace.archive(system))
            # Once for nothing: the first call of anything is slow.
            worker.ask("answer_each", records=records[:20])
            for round_number in range(plan.rounds):
                some = records[round_number * per_round : (round_number + 1) * per_round]
                seconds = worker.ask("answer_each", records=some)
                medians[system.name].append(1000 * median(seconds))
                tails[system.name].append(1000 * quantiles(seconds, n=20)[-1])
    note = f"`predict_json` in process, {len(records):,} questions one by one"
    findings.add("latency", "one question, p50", "ms", medians, more_is_better=False, note=note)
    findings.add("latency_p95", "one question, p95", "ms", tails, more_is_better=False, note=note)
