"""
Questions of any number, answered by many workers, each with a model of its own.

The questions are cut into the groups that one process would answer together, so that the answers are the same to
the last digit. What a group gave is a prediction file of its own in a folder beside the output: what has been
answered is not asked again, whatever happens. At the end they are joined, in the order of the questions.
"""

import json
import os
import shutil
import sys
from collections import deque
from dataclasses import dataclass
from typing import Any, Deque, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of

from bidaf_plugin.analysis.answering import QUESTIONS_AT_ONCE
from bidaf_plugin.analysis.files import KINDS_BESIDE, join_objects, path_beside, write_answers
from bidaf_plugin.analysis.shards import find_files, questions_of_files
from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.archives.trust import is_trusted
from bidaf_plugin.cluster.connection import Cluster, ClusterOptions, WorkerSetup, connected
from bidaf_plugin.cluster.outcome import MAX_ATTEMPTS, Outcome, outcome_of, result_of
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_can_be_written, used_alone

# Whoever waits for workers is told so after as many seconds.
_PATIENCE = 60
# What is written of an answer.
_KEYS = ("id", "best_span_str", *KINDS_BESIDE)


class AnsweringOptions(NamedTuple):
    """What `load_span_predictor` and `predict_questions` take."""

    archive: str
    predictor_args: Dict[str, Any]
    batch_size: Optional[int] = None


@dataclass
class Shard:
    """Questions that are answered together, and how often that has been tried."""

    number: int
    records: List[JsonDict]
    num_attempts: int = 0

    def __str__(self) -> str:
        first, last = (self.records[index]["id"] for index in (0, -1))
        return f"shard {self.number + 1}, questions {first!r} to {last!r}"


class _Parts:
    """
    The folder beside the output with the prediction file of each shard.

    # Parameters

    output : `str`
    """

    def __init__(self, output: str) -> None:
        self.folder = f"{output}.shards"
        # What could not be answered, a sentence in each line.
        self.errors_path = os.path.join(self.folder, "errors.txt")
        self._output = output

    def begin(self, settings: JsonDict) -> None:
        """What was begun with other settings does not pass for the same."""
        os.makedirs(self.folder, exist_ok=True)
        path = os.path.join(self.folder, "settings.json")
        is_begun = os.path.exists(path) and any(
            name[:1].isdecimal() for name in os.listdir(self.folder)
        )
        if not is_begun:
            write_atomically(path, json.dumps(settings))
        elif read_plain_json(path) != settings:
            raise DataError(
                f"{self.folder} was begun with another model, other data or other options: write to another "
                "file, or remove that folder"
            )

    def path(self, shard_number: int) -> str:
        return os.path.join(self.folder, f"{shard_number:08}.json")

    def has(self, shard: Shard) -> bool:
        return os.path.exists(self.path(shard.number))

    def join(self, num_shards: int) -> List[str]:
        """Writes what `write_answers` would write of all answers together."""
        paths = []
        parts = [path for path in map(self.path, range(num_shards)) if os.path.exists(path)]
        for kind in (*KINDS_BESIDE.values(), None):
            of_kind = parts if kind is None else [path_beside(part, kind) for part in parts]
            of_kind = [part for part in of_kind if os.path.exists(part)]
            if of_kind:
                path = self._output if kind is None else path_beside(self._output, kind)
                join_objects(path, of_kind)
                paths.append(path)
        return paths


def answer_files(
    options: AnsweringOptions, data: str, output: str, cluster_options: ClusterOptions
) -> Iterator[str]:
    """
    Answers all questions of a file or a folder, and gives the paths of what it has written.

    # Parameters

    options : `AnsweringOptions`
    data : `str`
        SQuAD files, or JSON lines in files that end in `.jsonl`; see `questions_of_files`.
    output : `str`
        The prediction file, as `write_answers` writes it.
    cluster_options : `ClusterOptions`

    # Raises

    `DataError`
        When everything else is done, if something could not be answered.
    """
    check_can_be_written(output)
    files = find_files(data)
    if "://" not in options.archive and not os.path.exists(options.archive):
        raise DataError(f"{options.archive}: there is no such file")
    parts = _Parts(output)
    with used_alone(parts.folder):
        settings = [*map(_identity, (options.archive, *files)), *options[1:]]
        parts.begin({"settings": json.loads(json.dumps(settings))})
        with connected(cluster_options) as cluster, _Errors(parts.errors_path) as errors:
            num_shards = _answer_parts(cluster, options, files, parts, errors)
        paths = parts.join(num_shards)
        errors_path = f"{output}.errors.txt"
        if errors.count:
            shutil.copyfile(parts.errors_path, errors_path)
        elif os.path.exists(errors_path):
            os.remove(errors_path)
        if not errors.of_shards:
            shutil.rmtree(parts.folder)
    if not paths:
        raise DataError(errors.first or f"{data}: there are no questions")
    yield from paths
    if errors.count:
        hint = "; the same command tries the lost shards again" if errors.of_shards else ""
        raise DataError(
            f"{errors.count} of the records or shards could not be answered, the first: {errors.first}; all of "
            f"them are named in {errors_path}, and {output} has the answers to the others{hint}"
        )


class _Errors:
    """
    Writes down what could not be answered.

    # Parameters

    path : `str`
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.first = ""
        self.count = self.of_shards = 0

    def __enter__(self) -> "_Errors":
        self._file = open(self._path, "w", encoding="utf-8")
        return self

    def __exit__(self, *error: Any) -> None:
        self._file.close()

    def add(self, sentence: str) -> None:
        self.first = self.first or sentence
        self.count += 1
        self._file.write(sentence.replace("\n", " ") + "\n")

    def add_shard(self, sentence: str) -> None:
        self.of_shards += 1
        self.add(sentence)


def _identity(path: str) -> List[Any]:
    """By which a file is known to be the same as before."""
    if not os.path.exists(path):
        return [path]
    status = os.stat(path)
    return [os.path.abspath(path), status.st_size, status.st_mtime]


def _answer_parts(
    cluster: Cluster,
    options: AnsweringOptions,
    files: List[str],
    parts: _Parts,
    errors: _Errors,
) -> int:
    """Makes the parts that are not there yet, and returns how many there should be."""
    num_shards = 0
    with Tqdm.tqdm(unit=" questions", mininterval=0.5) as progress:

        def missing() -> Iterator[Shard]:
            nonlocal num_shards
            groups = lazy_groups_of(questions_of_files(files, errors.add), QUESTIONS_AT_ONCE)
            for number, records in enumerate(groups):
                num_shards = number + 1
                shard = Shard(number, records)
                if parts.has(shard):
                    progress.update(len(records))
                else:
                    yield shard

        for shard, outcome in _answer_shards(cluster, options, missing()):
            if outcome.fault is not None:
                errors.add_shard(f"{shard}: {outcome.fault}")
                continue
            write_answers(parts.path(shard.number), outcome.value)
            progress.update(len(shard.records))
    return num_shards


def _answer_shards(
    cluster: Cluster, options: AnsweringOptions, shards: Iterable[Shard]
) -> Iterator[Tuple[Shard, Outcome]]:
    """
    What the workers say to each shard, in the order in which they come. A shard that is lost with its worker, or
    fails for reasons of its machine, is given to others.
    """
    ray = cluster.ray
    worker_class = cluster.remote(_Worker)
    shards = iter(shards)
    lost: Deque[Shard] = deque()
    # What is being done: by which worker, and for which shard. It loads its model for none.
    running: Dict[Any, Tuple[Any, Optional[Shard]]] = {}
    num_failed_starts = 0
    has_started = False
    # Of workers that could not start. If none can, the last of them is the one to tell.
    faults: List[str] = []

    def start_worker() -> None:
        worker = worker_class.remote(cluster.worker_setup(), options, is_trusted())
        running[worker.load.remote()] = worker, None

    def next_shard() -> Optional[Shard]:
        return lost.popleft() if lost else next(shards, None)

    first = next_shard()
    if first is None:
        return
    lost.append(first)
    for _ in range(cluster.num_workers):
        start_worker()
    while running:
        done, _ = ray.wait(list(running), timeout=_PATIENCE)
        if not done:
            if all(shard is None for _, shard in running.values()):
                _say("waiting for a worker: the cluster has nothing free, or its disks are slow")
            continue
        while has_started and faults:
            _say(f"a worker could not start, and the others go on: {faults.pop()}")
        worker, shard = running.pop(done[0])
        outcome = result_of(ray, done[0])
        if shard is None and outcome.fault is not None:
            num_failed_starts += 1
            is_hopeless = not outcome.can_be_tried_again or num_failed_starts >= MAX_ATTEMPTS
            if not is_hopeless:
                start_worker()
            elif not running:
                raise DataError(outcome.fault)
            else:
                faults.append(outcome.fault)
            continue
        if shard is None:
            num_failed_starts = 0
            has_started = True
        elif outcome.fault is not None and outcome.can_be_tried_again:
            shard.num_attempts += 1
            if shard.num_attempts < MAX_ATTEMPTS:
                lost.append(shard)
                _say(f"{shard}: {outcome.fault}; another worker tries again")
            else:
                yield shard, outcome._replace(fault=f"{outcome.fault}, {MAX_ATTEMPTS} times")
            ray.kill(worker)
            start_worker()
            continue
        else:
            yield shard, outcome
        shard = next_shard()
        if shard is None:
            ray.kill(worker)
        else:
            running[worker.answer.remote(shard.records)] = worker, shard


def _say(sentence: str) -> None:
    # On a line of its own: the progress bar leaves its unfinished.
    print(f"\n{sentence}", file=sys.stderr, flush=True)


class _Worker:
    """On a machine of the cluster: a model that answers shards."""

    def __init__(self, setup: WorkerSetup, options: AnsweringOptions, trust: bool) -> None:
        self._setup, self._options, self._trust = setup, options, trust

    def load(self) -> Outcome:
        """Not in the constructor, in which an error would kill the worker."""
        return outcome_of(self._load)

    def _load(self) -> None:
        self._setup.apply()
        self._predictor = load_span_predictor(
            self._options.archive,
            # Ray shows a worker its own GPUs alone.
            0 if self._setup.num_gpus else -1,
            self._trust,
            **self._options.predictor_args,
        )

    def answer(self, records: List[JsonDict]) -> Outcome:
        return outcome_of(self._answer, records)

    def _answer(self, records: List[JsonDict]) -> List[JsonDict]:
        questions = self._predictor.make_questions(records)
        answers = self._predictor.predict_questions(questions, self._options.batch_size)
        return [{key: answer[key] for key in _KEYS if key in answer} for answer in answers]
