import sys
import time
from typing import Dict, List, NamedTuple, Sequence

from benchmarks.systems import System


class Plan(NamedTuple):
    """
    Who is measured, how often and on how much.

    # Parameters

    systems : `List[System]`
    rounds : `int`
        How often each system is measured.
    batch_size : `int`
        Of training.
    num_batches : `int`
        How many training batches make a round.
    evaluation_batch_sizes : `List[int]`
        Each system is evaluated at the one that it is fastest with.
    num_lines : `int`
        Questions for `allennlp predict`.
    num_read_by_peer : `int`
        How many questions the peer reads and indexes in a round.
    memory_words : `int`
        The length of the passages in the batch whose training step is measured for memory.
    """

    systems: List[System]
    rounds: int
    batch_size: int
    num_batches: int
    evaluation_batch_sizes: List[int]
    num_lines: int
    num_read_by_peer: int
    memory_words: int

    def no_values(self) -> Dict[str, List[float]]:
        return {system.name: [] for system in self.systems}

    def in_turn(self, round_number: int) -> Sequence[System]:
        """Who goes first changes from round to round, so that a drift of the machine favours nobody."""
        return self.systems if round_number % 2 == 0 else self.systems[::-1]


def say(text: str) -> None:
    """Progress, on standard error."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)
