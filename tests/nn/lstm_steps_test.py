from typing import Any, Callable, List

import pytest
import torch

from bidaf_plugin.nn import lstm_steps
from bidaf_plugin.nn.lstm_recurrence import run_bidirectional_lstm

pytestmark = pytest.mark.usefixtures("kept_num_threads")


def run_with_gradients(num_threads: int, batch_size: int) -> List[torch.Tensor]:
    torch.set_num_threads(num_threads)
    generator = torch.Generator().manual_seed(1)
    # Shape: (batch_size, length, 2 * 4 * hidden_size)
    gate_inputs = torch.randn(batch_size, 6, 2 * 4 * 3, generator=generator).requires_grad_()
    # Shape: (2, 4 * hidden_size, hidden_size)
    weights = torch.randn(2, 4 * 3, 3, generator=generator).requires_grad_()
    lengths = torch.randint(1, 7, (batch_size, 1), generator=generator)
    outputs = run_bidirectional_lstm(gate_inputs, weights, torch.arange(6) < lengths)
    # Shape: (batch_size, length, 2 * hidden_size)
    weighting = torch.randn(outputs.size(), generator=generator)
    gradients = torch.autograd.grad((outputs * weighting).sum(), [gate_inputs, weights])
    return [outputs, *gradients]


class TestJobs:
    @pytest.mark.parametrize("num_threads", [2, 3, 4, 9])
    @pytest.mark.parametrize("batch_size", [1, 2, 7])
    def test_values_do_not_depend_on_the_number_of_threads(
        self, num_threads: int, batch_size: int
    ) -> None:
        alone = run_with_gradients(1, batch_size)
        together = run_with_gradients(num_threads, batch_size)
        torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)

    @pytest.mark.parametrize("num_threads", [1, 2])
    def test_without_torchscript_values_are_the_same(
        self, num_threads: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        scripted = run_with_gradients(num_threads, 5)
        for name in ("start_forward", "start_backward", "wait"):
            monkeypatch.setattr(lstm_steps, f"_scripted_{name}", getattr(lstm_steps, f"_{name}"))
        torch.testing.assert_close(run_with_gradients(num_threads, 5), scripted)

    def test_jobs_hold_no_tensor_that_python_knows(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Otherwise a thread that lets go of it while Python ends aborts the process.
        known: List[torch.Tensor] = []
        given: List[torch.Tensor] = []

        def start(name: str) -> Callable[..., Any]:
            def record(*arguments: Any) -> Any:
                known.extend(value for value in arguments if isinstance(value, torch.Tensor))
                return getattr(lstm_steps, f"_{name}")(*arguments)

            return record

        def fork(function: Callable[..., int], *arguments: Any) -> Any:
            given.extend(value for value in arguments if isinstance(value, torch.Tensor))
            assert isinstance(function(*arguments), int)
            return torch.futures.Future()

        for name in ("start_forward", "start_backward"):
            assert str(getattr(lstm_steps, f"_scripted_{name}").schema).endswith("-> Future(int)[]")
            monkeypatch.setattr(lstm_steps, f"_scripted_{name}", start(name))
        monkeypatch.setattr(torch.jit, "fork", fork)
        monkeypatch.setattr(lstm_steps, "_scripted_wait", lambda jobs: 0)
        run_with_gradients(2, 5)
        assert len(given) == 2 * 6 + 2 * 5
        for tensor in given:
            assert all(tensor is not one and tensor._base is not one for one in known)

    def test_an_empty_batch_stays_empty(self) -> None:
        outputs = run_bidirectional_lstm(
            torch.zeros(0, 4, 2 * 4 * 3), torch.zeros(2, 4 * 3, 3), torch.ones(0, 4).bool()
        )
        assert outputs.size() == (0, 4, 6)


class TestDividedThreads:
    def test_threads_are_given_back(self) -> None:
        torch.set_num_threads(5)
        with pytest.raises(KeyError), lstm_steps._divided_threads(torch.device("cpu")) as num_jobs:
            assert (num_jobs, torch.get_num_threads()) == (2, 1)
            raise KeyError
        assert torch.get_num_threads() == 5

    def test_one_thread_has_no_one_to_share_with(self) -> None:
        torch.set_num_threads(1)
        with lstm_steps._divided_threads(torch.device("cpu")) as num_jobs:
            assert num_jobs == 0
