from statistics import median
from typing import Any, Dict, List, NamedTuple, Optional

from benchmarks.systems import OURS, PEER

# The ratios that a whole run has. Other measurements have ratios, too: they are for information.
RATIOS = (
    "train",
    "evaluate",
    "predict",
    "latency",
    "startup",
    "read",
    "memory_loaded",
    "memory_step",
)


class Measurement(NamedTuple):
    """
    One quantity of both systems.

    # Parameters

    title : `str`
    unit : `str`
    more_is_better : `bool`
    values : `Dict[str, List[float]]`
        What was measured, by the name of the system; one value a round.
    note : `str`
        What a reader must know to judge it.
    """

    title: str
    unit: str
    more_is_better: bool
    values: Dict[str, List[float]]
    note: str

    def median_of(self, name: str) -> Optional[float]:
        values = self.values.get(name)
        return median(values) if values else None

    def ratio(self) -> Optional[float]:
        """How many times better ours is, by medians; None if one of the two was not measured."""
        ours, peer = self.median_of(OURS.name), self.median_of(PEER.name)
        if not ours or not peer:
            return None
        return ours / peer if self.more_is_better else peer / ours

    def as_dict(self) -> Dict[str, Any]:
        return {
            "title": self.title,
            "unit": self.unit,
            "better": "more" if self.more_is_better else "less",
            "note": self.note,
            "ratio": self.ratio(),
            **{
                name: {"median": median(values), "repetitions": len(values), "values": values}
                for name, values in self.values.items()
                if values
            },
        }


class Findings:
    """
    What a run has found so far.

    # Attributes

    measurements : `Dict[str, Measurement]`
        By a short name, that of `RATIOS` where it is one of them.
    facts : `Dict[str, Any]`
        What is no comparison.
    """

    def __init__(self) -> None:
        self.measurements: Dict[str, Measurement] = {}
        self.facts: Dict[str, Any] = {}

    def add(
        self,
        name: str,
        title: str,
        unit: str,
        values: Dict[str, List[float]],
        more_is_better: bool = True,
        note: str = "",
    ) -> None:
        self.measurements[name] = Measurement(title, unit, more_is_better, values, note)

    def as_dict(self) -> Dict[str, Any]:
        measured = self.measurements
        return {
            "ratios": {n: measured[n].ratio() if n in measured else None for n in RATIOS},
            "measurements": {name: m.as_dict() for name, m in measured.items()},
            **self.facts,
        }
