"""
The machine: what it is, how fast it multiplies, and how much memory this process takes.
"""

import ctypes
import gc
import os
import platform
import time
from functools import partial
from typing import Dict, Union

_MEBIBYTE = 2**20


def describe_machine(num_threads: int) -> Dict[str, object]:
    return {
        "cpu": _cpu_name(),
        "cores": os.cpu_count(),
        "threads": num_threads,
        "memory_mib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _MEBIBYTE),
        "system": platform.platform(),
    }


def _cpu_name() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def measure_sgemm(size: int = 2048, repetitions: int = 4) -> float:
    """
    The rate at which torch multiplies two large square matrices in single precision, in GFLOP/s: what
    the machine can do at best, hence the fastest of several, by either of torch's libraries.
    """
    import torch

    # Shape: (size, size)
    left, right, product = (torch.rand(size, size) for _ in range(3))
    by_mkl = partial(torch.mm, left, right, out=product)
    by_onednn = partial(torch.ops.mkldnn._linear_pointwise, left, right, None, "none", [], "")
    durations = []
    for multiply in (by_mkl, by_onednn):
        multiply()
        for _ in range(repetitions):
            start = time.perf_counter()
            multiply()
            durations.append(time.perf_counter() - start)
    return 2 * size**3 / min(durations) / 1e9


def resident_memory(process: Union[int, str] = "self") -> float:
    """What a process holds in memory now, in MiB, freed or not: as users see it."""
    return _status_value("VmRSS", process)


def processor_seconds(process: int) -> float:
    """How long the cores have worked for a process so far, whatever else they did meanwhile."""
    with open(f"/proc/{process}/stat", encoding="utf-8") as file:
        # What follows the name, which may hold blanks.
        values = file.read().rpartition(")")[2].split()
    return (int(values[11]) + int(values[12])) / os.sysconf("SC_CLK_TCK")


def peak_memory() -> float:
    """The most that this process has held since its start or since `reset_peak_memory`, in MiB."""
    return _status_value("VmHWM")


def reset_peak_memory() -> None:
    """
    Lets the peak start again from what is held now. What was freed goes back to the system before:
    it mostly stays with the process, and the next thing that is needed would hide in it.
    """
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    with open("/proc/self/clear_refs", "w", encoding="utf-8") as file:
        file.write("5")


def _status_value(key: str, process: Union[int, str] = "self") -> float:
    with open(f"/proc/{process}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) / 1024
    raise OSError(f"/proc/{process}/status has no {key}: memory can only be measured on Linux")
