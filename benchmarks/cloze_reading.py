"""
How fast many cloze questions are read, and in how much memory: `python -m benchmarks.cloze_reading`
writes invented `.question` files of the size of CNN's into a temporary folder, and reads them from
there and from a packed file, each in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Dict, List, Optional, Union

from benchmarks.cloze_files import write_files
from benchmarks.machine import resident_memory
from benchmarks.systems import ROOT, BenchmarkError

CONFIG = ROOT / "training_configs" / "bidaf_cnn.jsonnet"
# Larger folders than `MAX_SORTED` are read in another way: it is that one that is measured.
NUM_QUESTIONS = 150_000
# Memory is looked at so many times while the questions are read.
NUM_LOOKS = 10

Measured = Dict[str, Union[float, List[float]]]


def measure(path: Path, num_questions: int) -> Measured:
    """
    Reads `path` with the reader and the data loader of the config.

    # Returns

    `Measured`
        `first_batch_seconds`, from the start of reading, with a vocabulary, to the tensors of a batch,
        `questions_per_second` of reading alone, and `memory_mib` of the process: before anything is
        read, then at even distances.
    """
    from allennlp.common import Params
    from allennlp.data import DataLoader, DatasetReader, Vocabulary

    import bidaf_plugin  # noqa: F401

    # All modules are there, and nothing has been read: what is added is the price of reading.
    memory = [resident_memory()]
    params = Params.from_file(str(CONFIG))
    reader = DatasetReader.from_params(params.pop("dataset_reader"))
    vocabulary = Vocabulary.from_instances(islice(reader.read(str(path)), 100))
    start = time.perf_counter()
    loader = DataLoader.from_params(params.pop("data_loader"), reader=reader, data_path=str(path))
    loader.index_with(vocabulary)
    next(iter(loader))
    first_batch = time.perf_counter() - start
    start = time.perf_counter()
    num_read = 0
    for _ in reader.read(str(path)):
        num_read += 1
        if num_read % max(1, num_questions // NUM_LOOKS) == 0:
            memory.append(resident_memory())
    seconds = time.perf_counter() - start
    if num_read != num_questions:
        raise BenchmarkError(f"{path} has {num_questions} questions, but {num_read} were read")
    return {
        "first_batch_seconds": first_batch,
        "questions_per_second": num_read / seconds,
        "memory_mib": memory,
    }


def measure_apart(path: Path, num_questions: int) -> Measured:
    """`measure` in a fresh process."""
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.cloze_reading", "--questions", str(num_questions)]
        + ["--path", str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if ended.returncode != 0:
        raise BenchmarkError(f"reading {path} failed:\n{ended.stderr[-2000:]}")
    return json.loads(ended.stdout.splitlines()[-1])


def run(num_questions: int) -> None:
    from bidaf_plugin.commands.pack_cloze import pack

    with TemporaryDirectory() as temporary:
        folder, packed = Path(temporary) / "questions", Path(temporary) / "questions.packed"
        write_files(folder, num_questions)
        pack(str(folder), str(packed))
        print(
            "| | questions/s | seconds to the first batch | MiB before | MiB while reading |\n"
            "|---|---:|---:|---:|---:|"
        )
        for name, path in {"folder": folder, "packed file": packed}.items():
            measured = measure_apart(path, num_questions)
            before, *while_reading = measured["memory_mib"]  # type: ignore[misc]
            print(
                f"| {name} | {measured['questions_per_second']:,.0f} "
                f"| {measured['first_batch_seconds']:.1f} | {before:.0f} "
                f"| {min(while_reading):.0f} to {max(while_reading):.0f} |",
                flush=True,
            )


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.cloze_reading", description=__doc__)
    parser.add_argument(
        "--questions", type=int, default=NUM_QUESTIONS, help=f"(default = {NUM_QUESTIONS})"
    )
    parser.add_argument("--path", type=Path, help="only read this folder or file, and print JSON")
    options = parser.parse_args(arguments)
    try:
        if options.path is None:
            run(options.questions)
        else:
            print(json.dumps(measure(options.path, options.questions)))
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
