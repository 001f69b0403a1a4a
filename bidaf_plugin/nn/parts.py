"""
A batch divided among threads, each of which does all operations on its part. It takes less time than
dividing each operation: the threads need not wait for each other after each, and the small operations
between the large ones are divided as well.
"""

import os
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Callable, List, TypeVar

import torch

# A part should not have fewer rows, or its products are too small to be fast.
_MIN_ROWS = 16

Result = TypeVar("Result")


def number_of_parts(num_rows: int, device: torch.device) -> int:
    """How many parts a batch should have: 1 where dividing it would not help, or gradients are wanted."""
    if device.type != "cpu" or torch.is_grad_enabled() or torch.is_autocast_enabled("cpu"):
        return 1
    return max(1, min(torch.get_num_threads(), num_rows // _MIN_ROWS))


def run_in_parts(
    function: Callable[[slice], Result], num_rows: int, num_parts: int
) -> List[Result]:
    """
    # Parameters

    function : `Callable[[slice], Result]`
        Is called with the rows of each part, in a thread for each, and must not compute gradients.
    num_rows : `int`
    num_parts : `int`

    # Returns

    `List[Result]`
        What it returns for each part, in order.
    """
    bounds = [num_rows * part // num_parts for part in range(num_parts + 1)]
    parts = [slice(begin, end) for begin, end in zip(bounds, bounds[1:], strict=False)]
    num_threads = torch.get_num_threads()
    is_inference = torch.is_inference_mode_enabled()

    def run(rows: slice) -> Result:
        # All of this is known to one thread only.
        torch.set_num_threads(max(num_threads // num_parts, 1))
        with torch.inference_mode(is_inference), torch.no_grad():
            return function(rows)

    jobs: List[Future[Result]] = []
    try:
        jobs.extend(_threads.submit(run, rows) for rows in parts[1:])
        return [run(parts[0]), *(job.result() for job in jobs)]
    finally:
        wait(jobs)
        torch.set_num_threads(num_threads)


def _start_threads() -> None:
    global _threads
    # They are started when they are first needed.
    _threads = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="part")


_threads: ThreadPoolExecutor
_start_threads()
# A forked process has none of its parent's threads.
os.register_at_fork(after_in_child=_start_threads)
