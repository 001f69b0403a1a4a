from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Dict, Iterator, List

from benchmarks.findings import Findings
from benchmarks.measures import Plan
from benchmarks.measures.read import measure_read
from benchmarks.systems import OURS, PEER, System

READING = {"instances": 120, "read_seconds": 1.0, "memory_read": 10.0}
INDEXING = {
    OURS.name: {"index_seconds": 0.5, "memory_indexed": 12.0},
    PEER.name: {"index_seconds": 6.0, "memory_indexed": 48.0},
}
# Ours finds the indices only now.
TENSORS = {OURS.name: {"tensors_seconds": 2.5}, PEER.name: {"tensors_seconds": 3.0}}


class FakeWorkspace:
    """A workspace whose workers say what they are told to say."""

    train: Dict[str, Any] = {"data": []}
    settings = SimpleNamespace(train_data="train.json")

    def __init__(self) -> None:
        self.asked: Dict[str, List[str]] = {OURS.name: [], PEER.name: []}

    def read_training_data(self, system: System) -> Dict[str, float]:
        return {**READING, **INDEXING[system.name]}

    def write_excerpt(self, name: str, squad: Any, ids: Any) -> str:
        return "excerpt.json"

    def vocabulary(self, system: System) -> str:
        return "vocabulary"

    @contextmanager
    def worker(self, system: System) -> Iterator[Any]:
        def ask(method: str, **arguments: Any) -> Dict[str, float]:
            self.asked[system.name].append(method)
            if method == "make_tensors":
                assert arguments == {"batch_size": 60}
                return TENSORS[system.name]
            return READING if method == "read" else INDEXING[system.name]

        yield SimpleNamespace(ask=ask)


class TestMeasureRead:
    def test_the_ratio_counts_indexing_wherever_it_is_done(self) -> None:
        workspace: Any = FakeWorkspace()
        findings = Findings()
        measure_read(workspace, Plan([OURS, PEER], 2, 60, 1, [60], 1, 0, 1), findings)
        # Memory is measured before tensors are made.
        assert workspace.asked[OURS.name] == ["read", "index", "make_tensors"] * 2
        measured = findings.measurements
        assert measured["read"].median_of(OURS.name) == 120 / (1.0 + 0.5 + 2.5)
        assert measured["read"].median_of(PEER.name) == 120 / (1.0 + 6.0 + 3.0)
        assert measured["read"].ratio() == 10.0 / 4.0
        assert measured["read_only"].ratio() == 1
        assert measured["tensors_only"].median_of(OURS.name) == 120 / (0.5 + 2.5)
        assert measured["tensors_only"].ratio() == 9.0 / 3.0
        assert "index_only" not in measured
        assert measured["memory_loaded"].ratio() == 48 / 12
