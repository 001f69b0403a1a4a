from random import Random

from benchmarks.data import bucketed_batches, list_questions
from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.workspace import Workspace


def measure_step_memory(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """
    By how much one training step raises the resident memory at its peak: the first real step of a fresh
    process that holds the model and one batch. A step on two questions goes before, so that the code of
    the kernels is not counted.
    """
    questions = list_questions(workspace.train)
    num_words = {question.id: question.num_words for question in questions}
    batch = min(
        bucketed_batches(questions, plan.batch_size, Random(0)),
        key=lambda ids: abs(max(num_words[id_] for id_ in ids) - plan.memory_words),
    )
    path = workspace.write_excerpt("memory_batch", workspace.train, batch)
    memory = plan.no_values()
    for round_number in range(plan.rounds):
        say(f"memory_step, round {round_number + 1} of {plan.rounds}")
        for system in plan.in_turn(round_number):
            archive = workspace.archive(system)
            with workspace.worker(system) as worker:
                worker.ask("load", archive=archive)
                worker.ask("load_data", path=path)
                worker.ask("set_batches", name="small", batches=[batch[:2]])
                worker.ask("set_batches", name="whole", batches=[batch])
                worker.ask("train", name="small")
                memory[system.name].append(worker.ask("step_memory", name="whole"))
    longest = max(num_words[id_] for id_ in batch)
    findings.add(
        "memory_step",
        "peak memory of a training step",
        "MiB",
        memory,
        more_is_better=False,
        note=f"{len(batch)} passages of up to {longest} words; above what the process held before",
    )
