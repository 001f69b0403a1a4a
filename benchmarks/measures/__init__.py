"""
What is measured, one module each. In every round each system has its turn.
"""

from typing import Callable, Dict

from benchmarks.findings import Findings
from benchmarks.measures.evaluate import measure_evaluate
from benchmarks.measures.latency import measure_latency
from benchmarks.measures.plan import Plan as Plan
from benchmarks.measures.predict import measure_predict
from benchmarks.measures.read import measure_read
from benchmarks.measures.startup import measure_startup
from benchmarks.measures.step_memory import measure_step_memory
from benchmarks.measures.train import measure_train
from benchmarks.workspace import Workspace

# In the order in which they run: `read` makes the vocabularies that the others need.
MEASURES: Dict[str, Callable[[Workspace, Plan, Findings], None]] = {
    "read": measure_read,
    "train": measure_train,
    "evaluate": measure_evaluate,
    "predict": measure_predict,
    "latency": measure_latency,
    "memory_step": measure_step_memory,
    "startup": measure_startup,
}
