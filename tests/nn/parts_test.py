import os
import threading
from typing import List, Tuple

import pytest
import torch

from bidaf_plugin.nn.parts import number_of_parts, run_in_parts

CPU = torch.device("cpu")

pytestmark = pytest.mark.usefixtures("kept_num_threads")


class TestNumberOfParts:
    @pytest.mark.parametrize(
        "num_threads, num_rows, expected",
        [(1, 100, 1), (2, 0, 1), (2, 31, 1), (2, 32, 2), (2, 1000, 2), (4, 50, 3), (4, 1000, 4)],
    )
    def test_one_for_each_thread_unless_parts_are_small(
        self, num_threads: int, num_rows: int, expected: int
    ) -> None:
        torch.set_num_threads(num_threads)
        with torch.no_grad():
            assert number_of_parts(num_rows, CPU) == expected

    def test_one_where_gradients_are_wanted(self) -> None:
        torch.set_num_threads(2)
        assert number_of_parts(1000, CPU) == 1
        with torch.inference_mode():
            assert number_of_parts(1000, CPU) == 2

    def test_one_on_other_devices_and_in_other_precisions(self) -> None:
        torch.set_num_threads(2)
        with torch.no_grad():
            assert number_of_parts(1000, torch.device("cuda")) == 1
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert number_of_parts(1000, CPU) == 1


class TestRunInParts:
    @pytest.mark.parametrize("num_rows, num_parts", [(7, 1), (7, 2), (7, 3), (4, 4)])
    def test_every_row_is_in_one_part_in_order(self, num_rows: int, num_parts: int) -> None:
        rows = list(range(num_rows))
        parts = run_in_parts(lambda part: rows[part], num_rows, num_parts)
        assert len(parts) == num_parts and all(parts)
        assert [row for part in parts for row in part] == rows

    @pytest.mark.parametrize("is_inference", [False, True])
    def test_each_part_has_a_thread_with_its_share_of_threads(self, is_inference: bool) -> None:
        torch.set_num_threads(4)

        def look(_: slice) -> Tuple[int, int, bool, bool]:
            # Otherwise one thread might be done with both parts before the other has begun.
            meeting.wait(timeout=60)
            return (
                threading.get_ident(),
                torch.get_num_threads(),
                torch.is_grad_enabled(),
                torch.is_inference_mode_enabled(),
            )

        meeting = threading.Barrier(2)
        with torch.inference_mode(is_inference), torch.no_grad():
            (first, *first_state), (second, *second_state) = run_in_parts(look, 2, 2)
        assert first == threading.get_ident() != second
        assert first_state == second_state == [2, False, is_inference]
        assert torch.get_num_threads() == 4

    @pytest.mark.parametrize("failing", [0, 1])
    def test_an_error_waits_for_the_other_part(self, failing: int) -> None:
        torch.set_num_threads(2)
        done: List[int] = []
        begun = threading.Event()

        def work(rows: slice) -> None:
            if rows.start == failing:
                begun.wait(timeout=60)
                raise KeyError(failing)
            begun.set()
            done.append(rows.start)

        with pytest.raises(KeyError):
            run_in_parts(work, 2, 2)
        assert done == [1 - failing]
        assert torch.get_num_threads() == 2

    def test_works_in_a_forked_process(self) -> None:
        assert run_in_parts(lambda part: part.start, 2, 2) == [0, 1]
        child = os.fork()
        if child == 0:
            os._exit(0 if run_in_parts(lambda part: part.start, 2, 2) == [0, 1] else 1)
        _, status = os.waitpid(child, 0)
        assert os.waitstatus_to_exitcode(status) == 0
