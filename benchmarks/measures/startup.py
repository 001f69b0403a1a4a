from benchmarks.findings import Findings
from benchmarks.measures.plan import Plan, say
from benchmarks.systems import time_allennlp
from benchmarks.workspace import Workspace


def measure_startup(workspace: Workspace, plan: Plan, findings: Findings) -> None:
    """How long `allennlp --help` takes: imports, almost all of them AllenNLP's own."""
    seconds = plan.no_values()
    for round_number in range(plan.rounds):
        say(f"startup, round {round_number + 1} of {plan.rounds}")
        for system in plan.in_turn(round_number):
            seconds[system.name].append(time_allennlp(system, workspace.settings, "--help"))
    note = "`allennlp --help`"
    findings.add("startup", "start-up", "s", seconds, more_is_better=False, note=note)
