"""
Trainings side by side on a cluster, each as a task of its own, with the progress of all of them on one screen.

Their folders must be where all machines reach them: a training whose worker dies goes on elsewhere, from its last
checkpoint.
"""

import os
import sys
import time
from collections import deque
from contextlib import ExitStack
from functools import partial
from typing import Any, Deque, Dict, Iterator, List, NamedTuple

from allennlp.common.tqdm import Tqdm
from allennlp.training import TrainerCallback
from overrides import overrides

from bidaf_plugin.archives.trust import is_trusted, trusting
from bidaf_plugin.cluster.connection import Cluster, ClusterOptions, WorkerSetup, connected
from bidaf_plugin.cluster.outcome import MAX_ATTEMPTS, Outcome, outcome_of, result_of
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import used_alone
from bidaf_plugin.training.runs import train_or_resume, with_callback

_SECONDS_BETWEEN_REPORTS = 1.0


class Progress(NamedTuple):
    """Where a run is: the batches that it has seen of all, and its loss."""

    num_seen: int
    num_batches: int
    loss: float


def train_on_cluster(
    runs: Dict[str, Dict[str, Any]], folder: str, options: ClusterOptions
) -> Iterator[str]:
    """
    What `train_or_resume` does for each of the runs, in a folder of its name. Gives the names as they end.

    # Parameters

    runs : `Dict[str, Dict[str, Any]]`
        The experiments.
    folder : `str`
    options : `ClusterOptions`

    # Raises

    `DataError`
        When all others are done, if some could not be trained.
    """
    faults: List[str] = []
    with used_alone(folder), connected(options) as cluster:
        screen = _Screen(list(runs))
        for name, outcome in _train_all(cluster, runs, folder, screen):
            if outcome.fault is None:
                screen.end(name)
                yield name
            else:
                faults.append(f"{name}: {outcome.fault}")
                screen.say(faults[-1])
        screen.close()
    if faults:
        raise DataError(
            f"{len(faults)} of {len(runs)} runs have not ended ({'; '.join(faults)}); the same command goes on "
            "with them"
        )


def _train_all(
    cluster: Cluster, runs: Dict[str, Dict[str, Any]], folder: str, screen: "_Screen"
) -> Iterator[Any]:
    ray = cluster.ray
    # A process for each: what one leaves behind does not matter to the next.
    train = cluster.remote(_train, max_calls=1, max_retries=0)
    board = ray.remote(num_cpus=0)(_Board).remote()
    waiting: Deque[str] = deque(runs)
    num_attempts = dict.fromkeys(runs, 0)
    running: Dict[Any, str] = {}
    while waiting or running:
        while waiting and len(running) < cluster.num_workers:
            name = waiting.popleft()
            num_attempts[name] += 1
            path = os.path.join(folder, name)
            task = train.remote(cluster.worker_setup(), runs[name], path, name, board, is_trusted())
            running[task] = name
        done, _ = ray.wait(list(running), timeout=_SECONDS_BETWEEN_REPORTS)
        screen.show(ray.get(board.read.remote()))
        for task in done:
            name, outcome = running.pop(task), result_of(ray, task)
            if not outcome.can_be_tried_again or num_attempts[name] == MAX_ATTEMPTS:
                yield name, outcome
            else:
                screen.say(f"{name}: {outcome.fault}; it goes on from its last checkpoint")
                waiting.appendleft(name)


def _train(
    setup: WorkerSetup, params: Dict[str, Any], folder: str, name: str, board: Any, trust: bool
) -> Outcome:
    def train() -> None:
        setup.apply()
        report = partial(board.report.remote, name)
        with trusting(trust), with_callback(partial(ReportingCallback, report=report)):
            train_or_resume(params, folder)

    return outcome_of(train)


class _Board:
    """On a machine of the cluster: where runs report how far they are."""

    def __init__(self) -> None:
        self._progress: Dict[str, Progress] = {}

    def report(self, name: str, progress: Progress) -> None:
        self._progress[name] = progress

    def read(self) -> Dict[str, Progress]:
        return self._progress


class ReportingCallback(TrainerCallback):
    """
    Tells how far a run is, once a second at most.

    # Parameters

    serialization_dir : `str`
    report : `Callable[[Progress], object]`
    """

    def __init__(self, serialization_dir: str, report: Any) -> None:
        super().__init__(serialization_dir)
        self._report = report
        self._last_report = 0.0

    @overrides(check_signature=False)
    def on_batch(self, *args: Any, is_training: bool, **kwargs: Any) -> None:
        if not is_training or time.monotonic() - self._last_report < _SECONDS_BETWEEN_REPORTS:
            return
        trainer, _, _, metrics, epoch, batch_number, *_ = args
        self._last_report = time.monotonic()
        per_epoch = len(trainer.data_loader)
        num_seen = epoch * per_epoch + batch_number
        self._report(Progress(num_seen, per_epoch * trainer._num_epochs, metrics["loss"]))


class _Screen:
    """A progress bar for each run."""

    def __init__(self, names: List[str]) -> None:
        width = max(map(len, names))
        # In a log every change is a line.
        interval = 0.5 if sys.stderr.isatty() else 30.0
        self._stack = ExitStack()
        self._bars = {
            name: self._stack.enter_context(
                Tqdm.tqdm(
                    desc=name.ljust(width),
                    total=1,
                    unit=" steps",
                    position=index,
                    mininterval=interval,
                )
            )
            for index, name in enumerate(names)
        }

    def show(self, progress: Dict[str, Progress]) -> None:
        for name, (num_seen, num_batches, loss) in progress.items():
            bar = self._bars[name]
            bar.total = num_batches
            bar.set_postfix(loss=f"{loss:.3f}", refresh=False)
            bar.update(num_seen - bar.n)

    def end(self, name: str) -> None:
        bar = self._bars[name]
        bar.update(bar.total - bar.n)
        bar.refresh()

    def say(self, sentence: str) -> None:
        next(iter(self._bars.values())).write(sentence, file=sys.stderr)

    def close(self) -> None:
        self._stack.close()
