from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.systems import time_allennlp
from benchmarks.workspace import Workspace

# It is for information only, and slow.
MAX_ROUNDS = 2


def measure_startup(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """How long `allennlp --help` takes: imports, almost all of them AllenNLP's own."""
    seconds = plan.no_values()
    rounds = min(plan.rounds, MAX_ROUNDS)
    for round_number in range(rounds):
        say(f"startup, round {round_number + 1} of {rounds}")
        for system in plan.in_turn(round_number):
            seconds[system.name].append(time_allennlp(system, workspace.settings, "--help"))
    note = "`allennlp --help`"
    findings.add("startup", "start-up", "s", seconds, more_is_better=False, note=note)
