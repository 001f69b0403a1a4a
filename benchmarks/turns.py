"""
The processes of the two systems, which take turns: while one works, the other waits for its next
request and uses no core.
"""

import json
import subprocess
import sys
from types import TracebackType
from typing import Any, Dict, Optional, Type

from benchmarks.systems import ROOT, BenchmarkError, Settings, System, environment


class WorkerProcess:
    """
    A process of its own with a `Worker` in it (see `worker.py`), to be used in a `with` statement.

    # Parameters

    system : `System`
    settings : `Settings`
    """

    def __init__(self, system: System, settings: Settings) -> None:
        self._log_path = f"{settings.work_folder}/{system.name}.log"
        self._title = system.title
        with open(self._log_path, "w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "benchmarks.worker",
                    system.name,
                    json.dumps(settings._asdict()),
                ],
                cwd=ROOT,
                env=environment(system, settings),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )

    def ask(self, method: str, **arguments: Any) -> Any:
        """Lets the worker do something, and waits for its answer."""
        assert self._process.stdin is not None and self._process.stdout is not None
        try:
            self._process.stdin.write(json.dumps({"do": method, **arguments}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            raise BenchmarkError(f"{self._title} ended in '{method}'; see {self._log_path}")
        answer: Dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise BenchmarkError(f"{self._title} failed in '{method}':\n{answer['error']}")
        return answer["result"]

    def __enter__(self) -> "WorkerProcess":
        return self

    def __exit__(
        self,
        error_class: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        self._process.kill()
        self._process.communicate()
