from typing import Dict, Optional, Sequence

import torch
import torch.distributed
from allennlp.common.util import is_distributed
from allennlp.training.metrics import Metric
from overrides import overrides


class MeanOverWorkers(Metric):
    """
    Base of metrics that are means over examples, in percent, and right in distributed training.

    Each worker keeps its own sums. They are added over the workers in one exchange, when the metric
    is reset at the end of an epoch, which every worker does exactly once. Before that the metric is
    the worker's own, for its progress bar. (A metric that exchanges sums whenever it is called hangs
    as soon as one worker has a batch more than another.)

    # Parameters

    names : `Sequence[str]`
        The keys of what `get_metric` returns; it returns nothing where there was nothing to score.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = list(names)
        self._sums = [0.0] * len(self._names)
        self._count = 0

    def add(self, sums: Sequence[float], count: int) -> None:
        """Adds a batch: the sum of each quantity over its `count` examples."""
        self._sums = [old + float(new) for old, new in zip(self._sums, sums, strict=True)]
        self._count += count

    @overrides
    def get_metric(self, reset: bool = False) -> Dict[str, float]:
        totals = torch.tensor([*self._sums, self._count], dtype=torch.float64)
        if reset and is_distributed():
            totals = totals.to(_communication_device())
            torch.distributed.all_reduce(totals)
        *sums, count = totals.tolist()
        if reset:
            self.reset()
        if not count:
            return {}
        return {name: 100.0 * total / count for name, total in zip(self._names, sums, strict=True)}

    @overrides
    def reset(self) -> None:
        self._sums = [0.0] * len(self._names)
        self._count = 0


def _communication_device() -> Optional[torch.device]:
    if torch.distributed.get_backend() == "nccl":
        return torch.device("cuda", torch.cuda.current_device())
    return torch.device("cpu")
