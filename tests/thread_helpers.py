import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Callable, List, TypeVar

Result = TypeVar("Result")


def run_together(function: Callable[[int], Result], num_threads: int) -> List[Result]:
    """What a function returns for each of the first numbers, in threads that run at the same time."""
    start = Barrier(num_threads)

    def run(number: int) -> Result:
        start.wait()
        return function(number)

    interval = sys.getswitchinterval()
    # As often as Python can, so that threads come between each other's steps.
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(num_threads) as threads:
            return list(threads.map(run, range(num_threads)))
    finally:
        sys.setswitchinterval(interval)
