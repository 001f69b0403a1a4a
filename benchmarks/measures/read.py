from random import Random
from typing import Dict, List

from benchmarks.data import limit, list_questions
from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.systems import OURS, PEER, System
from benchmarks.workspace import Workspace

# What a worker says about one reading, by key.
Reading = Dict[str, float]


def measure_read(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """
    Instances/s of reading the training data, indexing it and making the tensors of all batches, in the
    order of the file; and the memory that it takes once it is indexed. Every round in a fresh process.
    Neither reader has limits of length, so both give all questions. Tensors belong to it, because ours
    looks up indices when a batch is made, and the peer before.

    Ours takes everything in every round. The peer reads and indexes everything once, for its memory and
    its vocabulary, since it takes minutes; in the rounds it takes an excerpt of whole paragraphs. That is
    to its advantage: the more objects there are, the slower Python's garbage collector gets.
    """
    whole: Dict[str, Reading] = {}
    for system in plan.systems:
        say(f"read, {system.title}: everything, and the vocabulary")
        whole[system.name] = workspace.read_training_data(system)
    small = limit(workspace.train, plan.num_read_by_peer, Random(0))
    ids = [question.id for question in list_questions(small)]
    excerpt_path = workspace.write_excerpt("train_excerpt", workspace.train, ids)
    rounds: Dict[str, List[Reading]] = {system.name: [] for system in plan.systems}
    for round_number in range(plan.rounds):
        say(f"read, round {round_number + 1} of {plan.rounds}")
        for system in plan.in_turn(round_number):
            path = workspace.settings.train_data if system is OURS else excerpt_path
            rounds[system.name].append(_read_once(workspace, system, path, plan.batch_size))
    _add_rates(findings, rounds, len(ids), plan.batch_size)
    _add_memory(findings, rounds, whole)
    findings.facts["whole_training_data"] = whole


def _read_once(workspace: Workspace, system: System, path: str, batch_size: int) -> Reading:
    vocabulary = workspace.vocabulary(system)
    with workspace.worker(system) as worker:
        return {
            **worker.ask("read", path=path),
            **worker.ask("index", vocabulary=vocabulary),
            **worker.ask("make_tensors", batch_size=batch_size),
        }


def _add_rates(
    findings: Findings, rounds: Dict[str, List[Reading]], num_read_by_peer: int, batch_size: int
) -> None:
    note = f"ours: everything; peer: an excerpt of {num_read_by_peer:,} questions"
    note += f"; tensors: all batches of {batch_size}, in the order of the file"
    reading, tensors = ("read_seconds",), ("index_seconds", "tensors_seconds")
    # Indexing has no row of its own: ours does most of it when it makes tensors.
    parts = {
        "read": ("reading, indexing and making tensors", (*reading, *tensors)),
        "read_only": ("of which reading", reading),
        "tensors_only": ("of which indexing and making tensors", tensors),
    }
    for name, (title, keys) in parts.items():
        rates = {
            system: [
                reading["instances"] / sum(reading[key] for key in keys) for reading in readings
            ]
            for system, readings in rounds.items()
        }
        findings.add(name, title, "instances/s", rates, note=note)


def _add_memory(
    findings: Findings, rounds: Dict[str, List[Reading]], whole: Dict[str, Reading]
) -> None:
    parts = {
        "memory_loaded": ("resident memory, training data read and indexed", "memory_indexed"),
        "memory_read": ("resident memory, training data only read", "memory_read"),
    }
    note = "everything, Python and torch included; peer: measured once"
    for name, (title, key) in parts.items():
        values = {OURS.name: [reading[key] for reading in rounds[OURS.name]]}
        if PEER.name in whole:
            values[PEER.name] = [whole[PEER.name][key]]
        findings.add(name, title, "MiB", values, more_is_better=False, note=note)
