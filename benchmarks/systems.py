"""
The two systems that are compared: how each is configured, started and kept apart from the other.
"""

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, NamedTuple

ROOT = Path(__file__).parent.parent
BENCHMARKS = ROOT / "benchmarks"
PEER_FOLDER = BENCHMARKS / ".peer"


class BenchmarkError(Exception):
    """Something could not be measured; the message is for people."""


class System(NamedTuple):
    """
    # Parameters

    name : `str`
        Its key in the results: "ours" or "peer". Its config is `configs/<name>.jsonnet`.
    title : `str`
        How people know it.
    package : `str`
        What to import so that AllenNLP knows its classes.
    """

    name: str
    title: str
    package: str


OURS = System("ours", "bidaf_plugin", "bidaf_plugin")
PEER = System("peer", "allennlp-models", "allennlp_models.rc")
SYSTEMS = {system.name: system for system in (OURS, PEER)}


class Settings(NamedTuple):
    """
    What every process of a run is told.

    # Parameters

    work_folder : `str`
        Where vocabularies, archives, excerpts of the data and logs go.
    train_data : `str`
    dev_data : `str`
        SQuAD files, not compressed: allennlp-models reads no others.
    glove : `str`
        Empty for a model that trains all of its word vectors.
    tiny : `bool`
        Small sizes, for a smoke run.
    num_threads : `int`
        What each process may use while the others wait.
    """

    work_folder: str
    train_data: str
    dev_data: str
    glove: str
    tiny: bool
    num_threads: int

    @property
    def tokenizer_folder(self) -> str:
        return os.path.join(self.work_folder, "blank_tokenizer")

    def folder_of(self, system: System) -> Path:
        return Path(self.work_folder) / system.name


def is_peer_installed() -> bool:
    return (PEER_FOLDER / "allennlp_models").is_dir()


def load_config(system: System, settings: Settings) -> Dict[str, Any]:
    """The experiment of a system."""
    import _jsonnet

    external_variables = {
        "train_data": settings.train_data,
        "dev_data": settings.dev_data,
        "glove": settings.glove,
        "tiny": json.dumps(settings.tiny),
        "tokenizer": settings.tokenizer_folder,
    }
    path = BENCHMARKS / "configs" / f"{system.name}.jsonnet"
    return json.loads(_jsonnet.evaluate_file(str(path), ext_vars=external_variables))


def environment(system: System, settings: Settings) -> Dict[str, str]:
    """
    The environment of a system's processes. Only those of the peer find allennlp-models: AllenNLP
    imports it wherever it can.
    """
    folders = [str(ROOT)] + ([str(PEER_FOLDER)] if system is PEER else [])
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(folders),
        "OMP_NUM_THREADS": str(settings.num_threads),
        "MKL_NUM_THREADS": str(settings.num_threads),
        "ALLENNLP_LOG_LEVEL": "WARNING",
        # The peer starts as it does without this package, whose stand-ins would help it, too.
        **({"ALLENNLP_STAND_INS": "missing"} if system is PEER else {}),
    }


def time_allennlp(system: System, settings: Settings, *arguments: str) -> float:
    """Runs the `allennlp` command of a system: the seconds that it takes from start to end."""
    if system is PEER:
        command = [sys.executable, "-m", "benchmarks.peer_command", *arguments]
    else:
        command = [str(Path(sys.executable).parent / "allennlp"), *arguments]
    start = time.perf_counter()
    ended = subprocess.run(
        command,
        # Ours runs where its `.allennlp_plugins` is, and the peer where there is none.
        cwd=settings.work_folder if system is PEER else ROOT,
        env=environment(system, settings),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - start
    if ended.returncode != 0:
        raise BenchmarkError(f"{' '.join(command)} failed:\n{ended.stderr[-2000:]}")
    return seconds
