"""
Ray in one process, for what can be tested without it: a worker does its work when it is waited for, and dies when
it is told to.
"""

import os
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, Callable, Iterator, List, Tuple

from bidaf_plugin.cluster.connection import Cluster, ClusterOptions


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class ActorDiedError(RayError):
    pass


class FakeRay:
    """
    # Parameters

    on_call : `Callable[[str], object]`
        Is told the name of a method or function before it is called, and may raise `ActorDiedError`.
    """

    exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)

    def __init__(self, on_call: Callable[..., object] = lambda *call: None) -> None:
        self.on_call = on_call
        self.num_killed = 0
        self._calls: List[Callable[[], Any]] = []

    def remote(self, **options: Any) -> Callable[[Any], Any]:
        def wrap(target: Any) -> Any:
            if isinstance(target, type):
                return SimpleNamespace(remote=lambda *args: _Actor(self, target(*args)))
            return SimpleNamespace(remote=self.deferred(target))

        return wrap

    def deferred(self, function: Callable[..., Any]) -> Callable[..., int]:
        def call(*args: Any) -> int:
            def run() -> Any:
                self.on_call(function.__name__, *args)
                return function(*args)

            self._calls.append(run)
            return len(self._calls) - 1

        return call

    def wait(self, references: List[int], timeout: float) -> Tuple[List[int], List[int]]:
        return references[:1], references[1:]

    def get(self, reference: int) -> Any:
        return self._calls[reference]()

    def kill(self, worker: Any) -> None:
        self.num_killed += 1


class _Actor:
    def __init__(self, ray: FakeRay, object: Any) -> None:
        self._ray, self._object = ray, object

    def __getattr__(self, name: str) -> Any:
        return SimpleNamespace(remote=self._ray.deferred(getattr(self._object, name)))


@contextmanager
def fake_connection(ray: FakeRay, num_workers: int = 2) -> Iterator[Cluster]:
    """In place of `connected`."""
    yield Cluster(ray, num_workers, ClusterOptions(), os.getcwd())
