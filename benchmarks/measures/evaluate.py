from contextlib import ExitStack
from typing import Dict, List, Optional, Sequence

from benchmarks.data import deal, list_questions, sorted_by_length, split, spread
from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.turns import WorkerProcess
from benchmarks.workspace import Workspace

# How many batches of the largest size are enough to see which size is the fastest.
TRIAL_BLOCKS = 4


def measure_evaluate(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """
    Examples/s of evaluation on the dev set: tensors, forward pass and metrics. Each system has the
    batches that it is fastest with: those of one of several sizes, sorted by length, or those that its
    own experiment makes. A round is one part of the set, so all rounds together are one evaluation of
    the whole set.
    """
    block_size = max(plan.evaluation_batch_sizes)
    ids = sorted_by_length(list_questions(workspace.dev))
    parts = deal(ids, plan.rounds, block_size)
    trial = [id_ for block in spread(split(ids, block_size), TRIAL_BLOCKS) for id_ in block]
    trial_path = workspace.write_excerpt("dev_trial", workspace.dev, trial)
    rates = plan.no_values()
    with ExitStack() as stack:
        workers = {s.name: stack.enter_context(workspace.worker(s)) for s in plan.systems}
        best_size: Dict[str, Optional[int]] = {}
        for system in plan.systems:
            say(f"evaluate, {system.title}: which batch size")
            worker = workers[system.name]
            worker.ask("load", archive=workspace.archive(system))
            worker.ask("load_data", path=trial_path)
            best_size[system.name] = _fastest(worker, trial, plan.evaluation_batch_sizes)
        for round_number, part in enumerate(parts):
            say(f"evaluate, part {round_number + 1} of {len(parts)}")
            path = workspace.write_excerpt("dev_part", workspace.dev, part)
            for system in plan.in_turn(round_number):
                worker = workers[system.name]
                worker.ask("load_data", path=path)
                batches = _make_batches(part, best_size[system.name])
                measured = worker.ask("evaluate", batches=batches)
                rates[system.name].append(len(part) / measured["seconds"])
    findings.facts["evaluation_batch_size"] = best_size
    note = f"{len(ids):,} questions in {len(parts)} parts; best batch sizes: " + ", ".join(
        f"{name} {size or 'as configured'}" for name, size in best_size.items()
    )
    findings.add("evaluate", "evaluation", "examples/s", rates, note=note)


def _fastest(worker: WorkerProcess, ids: List[str], batch_sizes: Sequence[int]) -> Optional[int]:
    """The best batch size, None for the batches of the system's own experiment."""
    # Once for nothing: the first call of anything is slow.
    worker.ask("evaluate", batches=split(ids[-max(batch_sizes) :], max(batch_sizes)))
    seconds: Dict[Optional[int], float] = {}
    # Twice, and the better one counts: a machine that is slow for a moment must not decide.
    for size in (*batch_sizes, None) * 2:
        took = worker.ask("evaluate", batches=_make_batches(ids, size))["seconds"]
        seconds[size] = min(took, seconds.get(size, took))
    return min(seconds, key=lambda size: seconds[size])


def _make_batches(ids: List[str], size: Optional[int]) -> Optional[List[List[str]]]:
    return None if size is None else split(ids, size)
