from contextlib import ExitStack
from random import Random
from statistics import median
from typing import Dict, List

from benchmarks.data import Batch, bucketed_batches, grouped_batches, list_questions, spread
from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.systems import OURS
from benchmarks.turns import WorkerProcess
from benchmarks.workspace import Workspace

TITLES = {
    "train": "training, batches by length",
    "train_grouped": "training, questions of a paragraph together",
}


def measure_train(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """
    Examples/s of whole training steps (forward, backward, clipping, Adam) on the same batches, and the
    share of the machine's sgemm rate at which a system does its matrix products. Tensors are made
    before. There are two kinds of batches: any questions of similar length together, as AllenNLP's
    bucket sampler has it, and questions of the same paragraph together.
    """
    questions = list_questions(workspace.train)
    kinds = {
        "train": bucketed_batches(questions, plan.batch_size, Random(0)),
        "train_grouped": grouped_batches(questions, plan.batch_size, Random(0)),
    }
    kinds = {kind: spread(batches, plan.num_batches) for kind, batches in kinds.items()}
    with ExitStack() as stack:
        workers = {s.name: stack.enter_context(workspace.worker(s)) for s in plan.systems}
        flops = _prepare(workspace, plan, findings, workers, kinds)
        seconds = {kind: plan.no_values() for kind in kinds}
        sgemm: List[float] = []
        for round_number in range(plan.rounds):
            say(f"train, round {round_number + 1} of {plan.rounds}")
            sgemm.append(workers[OURS.name].ask("sgemm"))
            for kind in kinds:
                for system in plan.in_turn(round_number):
                    duration = workers[system.name].ask("train", name=kind)
                    seconds[kind][system.name].append(duration)
    findings.facts["sgemm_gflops"] = {"median": median(sgemm), "values": sgemm}
    findings.facts["product_gflop_of_a_round"] = flops
    findings.facts["share_of_sgemm"] = {
        kind: {
            name: flops[kind][name] / median(durations) / median(sgemm)
            for name, durations in seconds[kind].items()
        }
        for kind in kinds
    }
    for kind, batches in kinds.items():
        num_examples = sum(map(len, batches))
        rates = {name: [num_examples / s for s in values] for name, values in seconds[kind].items()}
        note = f"{len(batches)} batches of up to {plan.batch_size} a round"
        findings.add(kind, TITLES[kind], "examples/s", rates, note=note)


def _prepare(
    workspace: Workspace,
    plan: Plan,
    findings: Findings,
    workers: Dict[str, WorkerProcess],
    kinds: Dict[str, List[Batch]],
) -> Dict[str, Dict[str, float]]:
    """Makes everything ready; returns the GFLOP of the products of a round."""
    ids = [id_ for batches in kinds.values() for batch in batches for id_ in batch]
    data_path = workspace.write_excerpt("train_batches", workspace.train, ids)
    flops: Dict[str, Dict[str, float]] = {kind: {} for kind in kinds}
    models = findings.facts.setdefault("models", {})
    for system in plan.systems:
        say(f"train, {system.title}: preparing")
        worker = workers[system.name]
        models[system.name] = worker.ask("load", archive=workspace.archive(system))
        worker.ask("load_data", path=data_path)
        for kind, batches in kinds.items():
            worker.ask("set_batches", name=kind, batches=batches)
            # This is the warm-up, too: afterwards every shape has been seen once.
            counts = worker.ask("count_products", name=kind)
            flops[kind][system.name] = sum(counts.values()) / 1e9
    return flops
