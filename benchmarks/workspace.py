import hashlib
import json
import os
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any, Collection, Dict, Iterator, List, Optional, Tuple

from benchmarks.data import Squad, excerpt, limit, load_squad
from benchmarks.systems import BENCHMARKS, ROOT, BenchmarkError, Settings, System, load_config
from benchmarks.turns import WorkerProcess

WORK_FOLDER = BENCHMARKS / ".work"


class Workspace:
    """
    The folder of a run, `benchmarks/.work/<size>/`: excerpts of the data, vocabularies and archives.
    Vocabularies are kept from run to run, because allennlp-models takes two minutes for one.
    To be used in a `with` statement, which ends the processes.

    # Parameters

    is_quick : `bool`
        The sample in `fixtures/` and a tiny model instead of SQuAD and the model of the paper.
    num_threads : `int`
    num_questions : `int`, optional (default = `None`)
        Only so many questions of each data set.
    """

    def __init__(
        self, is_quick: bool, num_threads: int, num_questions: Optional[int] = None
    ) -> None:
        self._folder = WORK_FOLDER / ("quick" if is_quick else "full")
        self._folder.mkdir(parents=True, exist_ok=True)
        self._is_quick = is_quick
        self._archives: Dict[str, str] = {}
        self._shared_workers: Dict[str, WorkerProcess] = {}
        self._stack = ExitStack()
        train, dev, glove = quick_sources() if is_quick else full_sources()
        self.train, self.dev = load_squad(train), load_squad(dev)
        if num_questions is not None:
            self.train = limit(self.train, num_questions, Random(0))
            self.dev = limit(self.dev, num_questions, Random(0))
        self.settings = Settings(
            work_folder=str(self._folder),
            train_data=self._write_json("train.json", self.train),
            dev_data=self._write_json("dev.json", self.dev),
            glove=glove,
            tiny=is_quick,
            num_threads=num_threads,
        )

    def write_excerpt(self, name: str, squad: Squad, ids: Collection[str]) -> str:
        """A SQuAD file of some questions."""
        return self._write_json(f"{name}.json", excerpt(squad, ids))

    def write_lines(self, name: str, lines: List[str]) -> str:
        path = self._folder / name
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        return str(path)

    def _write_json(self, name: str, content: Any) -> str:
        path = self._folder / name
        path.write_text(json.dumps(content), encoding="utf-8")
        return str(path)

    @contextmanager
    def worker(self, system: System) -> Iterator[WorkerProcess]:
        """
        A process of a system: a fresh one, which ends with the `with` statement. In a quick run there
        is only one of each system, because a process takes ten seconds to start.
        """
        if not self._is_quick:
            with WorkerProcess(system, self.settings) as worker:
                yield worker
        else:
            if system.name not in self._shared_workers:
                worker = WorkerProcess(system, self.settings)
                self._shared_workers[system.name] = self._stack.enter_context(worker)
            yield self._shared_workers[system.name]

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def archive(self, system: System) -> str:
        """The archive of a system's model, made once a run."""
        if system.name not in self._archives:
            vocabulary = self.vocabulary(system)
            with self.worker(system) as worker:
                self._archives[system.name] = worker.ask("make_archive", vocabulary=vocabulary)
        return self._archives[system.name]

    def vocabulary(self, system: System) -> str:
        """The vocabulary of the training data, as an earlier run left it if it still fits."""
        folder = self._vocabulary_folder(system)
        if not folder.is_dir():
            self.read_training_data(system)
        return str(folder)

    def read_training_data(self, system: System) -> Dict[str, float]:
        """
        Reads all training data in a fresh process, makes a new vocabulary of it, and indexes it.
        """
        folder = self._vocabulary_folder(system)
        unfinished = f"{folder}.unfinished"
        for old in (folder, unfinished):
            shutil.rmtree(old, ignore_errors=True)
        with self.worker(system) as worker:
            measured = worker.ask("read", path=self.settings.train_data)
            measured.update(worker.ask("make_vocabulary", folder=unfinished))
            measured.update(worker.ask("index", vocabulary=unfinished))
        os.replace(unfinished, folder)
        return measured

    def _vocabulary_folder(self, system: System) -> Path:
        config = load_config(system, self.settings)
        made_from = [config["dataset_reader"], config["vocabulary"]]
        made_from += [
            config["validation_dataset_reader"],
            Path(self.settings.train_data).stat().st_size,
        ]
        key = hashlib.sha256(json.dumps(made_from, sort_keys=True).encode()).hexdigest()[:12]
        return self._folder / f"{system.name}_vocabulary_{key}"


def quick_sources() -> Tuple[Path, Path, str]:
    fixtures = ROOT / "fixtures" / "squad"
    return fixtures / "sample_train.json", fixtures / "sample_dev.json", ""


def full_sources() -> Tuple[Path, Path, str]:
    folder = os.environ.get("BIDAF_DATA", "")
    if not folder:
        raise BenchmarkError(
            "set BIDAF_DATA to the folder of the real data (squad/train-v1.1.json, "
            "squad/dev-v1.1.json, glove/glove.6B.100d*.txt, plain or gzipped), or use --quick"
        )
    found = [
        sorted(Path(folder).resolve().glob(pattern))
        for pattern in (
            "squad/train-v1.1.json*",
            "squad/dev-v1.1.json*",
            "glove/glove.6B.100d*.txt*",
        )
    ]
    names = ("SQuAD train (squad/train-v1.1.json)", "SQuAD dev (squad/dev-v1.1.json)", "GloVe 100d")
    for name, paths in zip(names, found, strict=True):
        if not paths:
            raise BenchmarkError(f"{folder}: no {name} in it, plain or gzipped")
    train, dev, glove = (paths[0] for paths in found)
    return train, dev, str(glove)
