"""
`allennlp bidaf serve` under load: `python -m benchmarks.serving ARCHIVE`. One client asks one question of
SQuAD dev after the other, then many do so at the same time, and at last the server is told to stop while
they do. The clients are in a process of their own.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from statistics import mean, quantiles
from tempfile import TemporaryDirectory
from typing import Any, Dict, List, Optional

from benchmarks.exported import write_questions
from benchmarks.machine import describe_machine, processor_seconds, resident_memory
from benchmarks.systems import ROOT, BenchmarkError
from benchmarks.workspace import full_sources, quick_sources

Figures = Dict[str, Any]


class Server:
    """
    A server in a process of its own, to be used in a `with` statement.

    # Parameters

    archive : `str`
    folder : `Path`
        Where the access log goes.
    """

    def __init__(self, archive: str, folder: Path) -> None:
        self._log = folder / "access.jsonl"
        self._log.touch()
        command = str(Path(sys.executable).parent / "allennlp")
        self.process = subprocess.Popen(
            [command, "bidaf", "serve", archive, "--port", "0", "--log-file", str(self._log)],
            cwd=ROOT,
            env={**os.environ, "ALLENNLP_LOG_LEVEL": "ERROR"},
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if " at http" not in line:
            raise BenchmarkError("the server has not started")
        self.address = line.partition(" at ")[2].split()[0]

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: Any) -> None:
        self.process.kill()
        self.process.communicate()

    def memory(self) -> float:
        return round(resident_memory(self.process.pid), 1)

    def num_answered(self) -> int:
        """By its own account, the questions that it has answered so far."""
        lines = map(json.loads, self._log.read_text(encoding="utf-8").splitlines())
        return sum(line["path"] == "/api/answer" and line["status"] == 200 for line in lines)


def start_clients(
    server: Server, questions: Path, number: int, seconds: float
) -> "subprocess.Popen[str]":
    arguments = [server.address, str(questions), "--clients", str(number)]
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.clients", *arguments, "--seconds", str(seconds)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def read_figures(clients: "subprocess.Popen[str]") -> Figures:
    output, _ = clients.communicate()
    if clients.returncode != 0:
        raise BenchmarkError("the clients have failed")
    return json.loads(output)


def watch_memory(
    server: Server, clients: "subprocess.Popen[str]", seconds: float, number: int = 5
) -> List[float]:
    """What the server holds at the beginning and so many times more while the clients ask."""
    samples = [server.memory()]
    for _ in range(number):
        # What the clients print is read meanwhile, so that they do not wait for it.
        with suppress(subprocess.TimeoutExpired):
            clients.communicate(timeout=0.9 * seconds / number)
        samples.append(server.memory())
    return samples


def measure_load(server: Server, questions: Path, number: int, seconds: float) -> Figures:
    """What so many clients at the same time meet."""
    processor_before = processor_seconds(server.process.pid)
    clients = start_clients(server, questions, number, seconds)
    memory = watch_memory(server, clients, seconds)
    found = read_figures(clients)
    latencies = found["latencies"]
    if len(latencies) < 2:
        raise BenchmarkError(f"{number} clients have got no answers: {found['statuses']}")
    processor = processor_seconds(server.process.pid) - processor_before
    percentiles = quantiles(latencies, n=100, method="inclusive")
    return {
        "clients": number,
        "seconds": round(found["seconds"], 1),
        "answers": len(latencies),
        "errors": sum(found["statuses"].values()) - len(latencies) + found["lost"],
        "answers_per_second": round(len(latencies) / found["seconds"], 2),
        "processor_milliseconds_per_answer": round(1000 * processor / len(latencies), 1),
        "milliseconds": {
            "mean": round(1000 * mean(latencies), 1),
            **{f"p{p}": round(1000 * percentiles[p - 1], 1) for p in (50, 95, 99)},
        },
        "memory_mib": memory,
    }


def measure_stop(server: Server, questions: Path, number: int) -> Figures:
    """What becomes of the requests that are open when the server is told to stop."""
    num_answered_before = server.num_answered()
    clients = start_clients(server, questions, number, seconds=60)
    while server.num_answered() < num_answered_before + 2 * number:
        time.sleep(0.2)
    start = time.perf_counter()
    server.process.send_signal(signal.SIGTERM)
    exit_code = server.process.wait(timeout=60)
    seconds = time.perf_counter() - start
    found = read_figures(clients)
    return {
        "seconds": round(seconds, 2),
        "exit_code": exit_code,
        "answered_by_the_server": server.num_answered() - num_answered_before,
        "answers_received": found["statuses"].get("200", 0),
        "refused_with_503": found["statuses"].get("503", 0),
        "requests_without_response": found["lost"],
    }


def run(archive: str, dev: Path, num_clients: int, seconds: float) -> Figures:
    with TemporaryDirectory() as folder:
        questions = Path(folder) / "questions.jsonl"
        write_questions(questions, dev, 1_000)
        with Server(archive, Path(folder)) as server:
            # The first answers are slower, and the words of the questions are not known yet.
            measure_load(server, questions, num_clients, seconds=min(seconds, 10))
            one = measure_load(server, questions, 1, seconds)
            many = measure_load(server, questions, num_clients, seconds)
            stop = measure_stop(server, questions, num_clients)
    ratio = many["answers_per_second"] / one["answers_per_second"]
    num_threads = int(os.environ.get("OMP_NUM_THREADS", len(os.sched_getaffinity(0))))
    return {
        "machine": {**describe_machine(num_threads), "cores_used": len(os.sched_getaffinity(0))},
        "one": one,
        "many": many,
        "ratio": round(ratio, 2),
        "stop": stop,
    }


def show(figures: Figures) -> None:
    print(
        "| clients | answers | errors | answers/s | p50 ms | p95 ms | p99 ms | processor ms/answer | memory, "
        "MiB |"
    )
    print("|---:|---:|---:|---:|---:|---:|---:|---:|---|")
    for load in (figures["one"], figures["many"]):
        times = " | ".join(f"{load['milliseconds'][name]:.0f}" for name in ("p50", "p95", "p99"))
        print(
            f"| {load['clients']} | {load['answers']:,} | {load['errors']} | "
            f"{load['answers_per_second']:.1f} | {times} | "
            f"{load['processor_milliseconds_per_answer']:.0f} | {', '.join(f'{m:.0f}' for m in load['memory_mib'])} |"
        )
    print(f"\n{figures['ratio']:.1f} times as many answers/s")
    stop = figures["stop"]
    print(
        f"SIGTERM under load: ended after {stop['seconds']:.1f} s with exit code {stop['exit_code']}; "
        f"{stop['answered_by_the_server']} answers sent, {stop['answers_received']} received, "
        f"{stop['refused_with_503']} requests refused, {stop['requests_without_response']} without response"
    )


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving", description=__doc__)
    parser.add_argument("archive", help="the model.tar.gz of a training run")
    parser.add_argument("--clients", type=int, default=32, help="(default = 32)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each load (default = 60)")
    parser.add_argument("--quick", action="store_true", help="questions of the embedded sample")
    parser.add_argument("--output", metavar="JSON", help="also write the figures to this file")
    options = parser.parse_args(arguments)
    try:
        _, dev, _ = quick_sources() if options.quick else full_sources()
        figures = run(options.archive, dev, options.clients, options.seconds)
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    show(figures)
    if options.output:
        Path(options.output).write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
