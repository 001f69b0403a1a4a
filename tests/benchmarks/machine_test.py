import numpy
import pytest

from benchmarks.machine import (
    describe_machine,
    measure_sgemm,
    peak_memory,
    reset_peak_memory,
    resident_memory,
)


class TestMachine:
    def test_peak_memory_starts_again(self) -> None:
        reset_peak_memory()
        before = resident_memory()
        block = numpy.ones(100 * 2**20, dtype=numpy.uint8)
        del block
        assert peak_memory() - before == pytest.approx(100, abs=10)
        reset_peak_memory()
        assert peak_memory() - resident_memory() < 10

    def test_machine_is_described(self) -> None:
        machine = describe_machine(num_threads=2)
        assert machine["cpu"] and machine["threads"] == 2
        assert measure_sgemm(size=64, repetitions=2) > 0
