"""
The way to a cluster of Ray, and what its workers need before they can work.
"""

import os
import signal
import socket
from contextlib import contextmanager
from importlib import import_module
from typing import Any, Dict, Iterator, List, NamedTuple, Optional

import torch
from allennlp.common.plugins import import_plugins
from allennlp.common.util import import_module_and_submodules

from bidaf_plugin.common.errors import DataError

# A local cluster of this machine.
LOCAL = "local"
_SECONDS_TO_ANSWER = 5
# What is sent are shards of questions and their answers, a few megabytes at a time.
_OBJECT_STORE_BYTES = 200_000_000
# Ray is told where it should listen, and to try once, in the environment alone.
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_NUM_REDIS_GET_RETRIES": "1",
    "RAY_py_gcs_connect_timeout_s": "10",
}
_ON_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
_LOOPBACKS = ("127.0.0.1", "localhost", "::1")


class ClusterOptions(NamedTuple):
    """
    Which cluster, and what of it.

    address : `str`
        `LOCAL` for one of this machine's cores, which is there as long as it is used, or "HOST:PORT".
    workers : `int`
        How many work at a time; None for as many as there is room for.
    cpus, gpus : `int`
        For each of them.
    packages : `List[str]`
        What they import besides the plugin: AllenNLP's `--include-package`.
    """

    address: str = LOCAL
    workers: Optional[int] = None
    cpus: int = 1
    gpus: int = 0
    packages: List[str] = []


class Cluster(NamedTuple):
    """
    ray : `Any`
        The module.
    num_workers : `int`
        How many are to work at a time.
    options : `ClusterOptions`
    folder : `str`
        Where the command was called: relative paths mean the same to all workers.
    """

    ray: Any
    num_workers: int
    options: ClusterOptions
    folder: str

    def remote(self, function_or_class: Any, **options: Any) -> Any:
        """To be called on a worker, with the CPUs and GPUs of one, and not again by Ray if that dies."""
        needs = {"num_cpus": self.options.cpus, "num_gpus": self.options.gpus}
        return self.ray.remote(**needs, **options)(function_or_class)

    def worker_setup(self) -> "WorkerSetup":
        return WorkerSetup(
            self.folder, self.options.cpus, self.options.gpus, list(self.options.packages)
        )


class WorkerSetup(NamedTuple):
    """What is sent to a worker with its work."""

    folder: str
    num_threads: int
    num_gpus: int
    packages: List[str]

    def apply(self) -> None:
        """To be called on the worker, before it works."""
        try:
            os.chdir(self.folder)
        except OSError as error:
            raise DataError(
                f"{self.folder}: a machine of the cluster cannot reach this folder, in which the command was "
                f"called ({error.strerror})"
            ) from error
        torch.set_num_threads(self.num_threads)
        import_plugins()
        for package in self.packages:
            import_module_and_submodules(package)


@contextmanager
def connected(options: ClusterOptions) -> Iterator[Cluster]:
    """Starts a local cluster, or goes to the one at the address, with a `DataError` if that is not there."""
    is_local = options.address == LOCAL
    on_loopback = is_local
    if not is_local:
        on_loopback = _check_answers(options.address) in _LOOPBACKS
    for name, value in {**_ENVIRONMENT, **(_ON_LOOPBACK if on_loopback else {})}.items():
        os.environ.setdefault(name, value)
    # If it is not installed, the error has a sentence.
    ray = import_module("ray")
    local_options = {"include_dashboard": False, "object_store_memory": _OBJECT_STORE_BYTES}
    # Ray takes it for itself.
    on_sigterm = signal.getsignal(signal.SIGTERM)
    settings = {"log_to_driver": False, "logging_level": "CRITICAL"}
    try:
        if is_local:
            _start(ray, {**settings, **local_options})
        else:
            ray.init(options.address, **settings)
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        where = "a cluster of this machine" if is_local else f"the cluster at {options.address}"
        raise DataError(f"{where} cannot be used: {reason}") from error
    try:
        signal.signal(signal.SIGTERM, on_sigterm)
        yield Cluster(ray, _room(ray, options), options, os.getcwd())
    finally:
        ray.shutdown()


def _start(ray: Any, settings: Dict[str, Any]) -> None:
    """Starts a local cluster. A machine that is busy may not have it up in the half a minute that Ray allows."""
    for is_last in (False, False, True):
        try:
            ray.init(LOCAL, **settings)
            return
        except Exception:
            ray.shutdown()
            if is_last:
                raise


def _check_answers(address: str) -> str:
    """The host of an address at which somebody answers. (Ray itself waits for minutes.)"""
    host, colon, port = address.rpartition(":")
    if not (host and port.isdecimal() and int(port) < 65_536) or "/" in host:
        raise DataError(f"--ray {address}: the address of a cluster is HOST:PORT")
    try:
        socket.create_connection((host, int(port)), _SECONDS_TO_ANSWER).close()
    except OSError as error:
        reason = error.strerror or "no answer"
        raise DataError(f"--ray {address}: nobody answers there ({reason})") from error
    return host


def _room(ray: Any, options: ClusterOptions) -> int:
    """How many workers there are to be, if there is room for them."""
    needs = f"{options.cpus} CPUs and {options.gpus} GPUs"
    room = 0
    for node in ray.nodes():
        if node["Alive"]:
            has = node["Resources"]
            by_cpus = int(has.get("CPU", 0)) // options.cpus
            by_gpus = int(has.get("GPU", 0)) // options.gpus if options.gpus else by_cpus
            room += min(by_cpus, by_gpus)
    if room == 0:
        raise DataError(f"no machine of the cluster has {needs} for a worker")
    if options.workers is not None and options.workers > room:
        raise DataError(
            f"the cluster has room for {room} workers with {needs} each, not for {options.workers}"
        )
    return options.workers or room
