"""
With Ray itself: in short where it is installed, and at length in `make test-cluster`.
"""

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from functools import partial
from glob import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import pytest

from tests.command_line_test import ALLENNLP, ENVIRONMENT, start
from tests.helpers import FIXTURES, ROOT, TINY_SQUAD, tiny_params

needs_ray = pytest.mark.skipif(
    find_spec("ray") is None, reason="needs Ray: pip install 'bidaf_plugin[cluster]'"
)
at_length = pytest.mark.skipif(
    not os.environ.get("BIDAF_CLUSTER_TESTS"), reason="takes minutes: make test-cluster"
)
SAMPLE = FIXTURES / "squad" / "sample_dev.json"
# Trainings of a few seconds.
CHOICES = {"a": "hidden_size:: 5", "b": "hidden_size:: 6"}


def run(*arguments: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [ALLENNLP, "bidaf", *map(str, arguments)],
        cwd=ROOT,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=600,
    )


def write_variants(folder: Path, more: str = "") -> Path:
    folder.mkdir()
    for name, choices in CHOICES.items():
        params = tiny_params(f"{choices}, {more}")
        (folder / f"{name}.jsonnet").write_text(json.dumps(params))
    return folder


def find_processes(title: str, command: "subprocess.Popen[bytes]") -> List[int]:
    """The workers of a command's cluster that say of themselves that they do this."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            is_it = path.read_bytes().startswith(f"ray::{title}".encode())
            if is_it and command.pid in ancestors(int(path.parent.name)):
                found.append(int(path.parent.name))
    return found


def ancestors(pid: int) -> Iterator[int]:
    while pid > 1:
        status = Path(f"/proc/{pid}/stat").read_text()
        pid = int(status.rpartition(")")[2].split()[1])
        yield pid


def wait_until(is_so: Callable[[], Any], process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + 300
    while not is_so():
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.05)


def comparison(folder: Path) -> List[List[str]]:
    """What has been compared, without how long it took."""
    rows = (folder / "comparison.csv").read_text().splitlines()
    assert rows[0].endswith(",training_duration")
    return sorted(row.split(",")[:-1] for row in rows)


@pytest.fixture
def many_questions(tmp_path: Path) -> Path:
    """Those of the sample again and again, in JSON lines."""
    path = tmp_path / "questions.jsonl"
    articles = json.loads(SAMPLE.read_text())["data"]
    with path.open("w") as file:
        for number in range(30):
            for article in articles:
                for paragraph in article["paragraphs"]:
                    for item in paragraph["qas"]:
                        record = {
                            "id": f"{number} {item['id']}",
                            "question": item["question"],
                            "passage": paragraph["context"],
                        }
                        file.write(json.dumps(record) + "\n")
    return path


@needs_ray
class TestRay:
    def test_answers_on_a_local_cluster_are_those_of_one_process(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        for name, options in (("plain", []), ("many", ["--ray"])):
            (tmp_path / name).mkdir()
            out = tmp_path / name / "p.json"
            ended = run("answer", tiny_archive, TINY_SQUAD, "-o", out, "--n-best", 2, *options)
            assert ended.returncode == 0, ended.stderr
        files = {name: list_files(tmp_path / name) for name in ("plain", "many")}
        assert len(files["many"]) == 2
        assert files["many"] == files["plain"]

    @at_length
    def test_a_worker_that_is_killed_is_replaced(
        self, tiny_archive: Path, many_questions: Path, tmp_path: Path
    ) -> None:
        arguments = ["bidaf", "answer", str(tiny_archive), str(many_questions), "-o"]
        contents = []
        for name in ("whole", "killed"):
            out = tmp_path / f"{name}.json"
            process = start(*arguments, str(out), "--ray", log=tmp_path / f"{name}.log")
            if name == "killed":
                shards = Path(f"{out}.shards")
                wait_until((shards / "00000000.json").exists, process)
                os.kill(find_processes("_Worker", process)[0], signal.SIGKILL)
            assert process.wait(timeout=600) == 0
            contents.append(out.read_bytes())
        assert contents[0] == contents[1]
        assert len(json.loads(contents[0])) == 30 * 226
        assert (
            "its worker died; another worker tries again" in (tmp_path / "killed.log").read_text()
        )

    @at_length
    def test_a_study_is_that_of_one_process_also_if_a_worker_is_killed(
        self, tmp_path: Path
    ) -> None:
        variants = write_variants(tmp_path / "variants", "batch_size:: 1")
        arguments = ["bidaf", "study", str(variants), "--steps", "400", "--evaluations", "4", "-s"]
        for name, options in (("plain", []), ("many", ["--ray"]), ("killed", ["--ray"])):
            log, folder = tmp_path / f"{name}.log", tmp_path / name
            process = start(*arguments, str(folder), *options, log=log)
            if name == "killed":
                wait_until(partial(glob, f"{folder}/*/model_state_e1_b0.th"), process)
                os.kill(find_processes("_train", process)[0], signal.SIGKILL)
            assert process.wait(timeout=600) == 0, log.read_text()
        assert comparison(tmp_path / "many") == comparison(tmp_path / "plain")
        assert comparison(tmp_path / "killed") == comparison(tmp_path / "plain")
        assert "goes on from its last checkpoint" in (tmp_path / "killed.log").read_text()

    @at_length
    def test_an_ensemble_is_that_of_one_process(self, tmp_path: Path) -> None:
        config = tmp_path / "tiny.json"
        config.write_text(json.dumps(tiny_params()))
        for name, options in (("plain", []), ("many", ["--ray", "--workers", 2])):
            ended = run("train-ensemble", config, "-s", tmp_path / name, "-n", 3, *options)
            assert ended.returncode == 0, ended.stderr
        tables = [
            (tmp_path / name / "scores.txt").read_text().replace(name, "")
            for name in ("plain", "many")
        ]
        assert tables[0] == tables[1]

    @at_length
    def test_two_runs_into_the_same_file_do_not_meet(
        self, tiny_archive: Path, many_questions: Path, tmp_path: Path
    ) -> None:
        out = tmp_path / "p.json"
        arguments = ["answer", str(tiny_archive), str(many_questions), "-o", str(out), "--ray"]
        process = start("bidaf", *arguments, log=tmp_path / "log")
        wait_until(Path(f"{out}.shards.lock").exists, process)
        second = run(*arguments)
        assert second.returncode == 1
        assert second.stderr.splitlines()[-1].endswith(
            "p.json.shards: another process is at work on it; wait until it has ended"
        )
        assert process.wait(timeout=600) == 0
        assert len(json.loads(out.read_bytes())) == 30 * 226


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of two megabytes."""
    disk = tmp_path / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@needs_ray
@at_length
def test_a_full_disk_of_the_workers_is_one_sentence_and_nothing_is_lost(
    tiny_archive: Path, many_questions: Path, tmp_path: Path, small_disk: Path
) -> None:
    (small_disk / "full").write_bytes(bytes(2 * 1024**2 - 4096))
    out = tmp_path / "p.json"
    arguments = ["answer", tiny_archive, many_questions, "-o", out, "--ray"]
    environment: Dict[str, str] = {**ENVIRONMENT, "TMPDIR": str(small_disk)}
    # Archives are unpacked there; all else has room.
    environment.update(RAY_TMPDIR="/tmp", SQLITE_TMPDIR="/tmp")
    command = [ALLENNLP, "bidaf", *map(str, arguments)]
    ended = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600
    )
    assert ended.returncode == 1
    assert "No space left on device" in ended.stderr.splitlines()[-1]
    assert not out.exists()
    assert run(*arguments).returncode == 0
    assert len(json.loads(out.read_bytes())) == 30 * 226


def list_files(folder: Path) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
