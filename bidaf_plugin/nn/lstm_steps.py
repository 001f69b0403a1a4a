"""
The steps of an LSTM, one after the other. A step is small, and threads that share it mostly wait for each
other; so each direction of each part of a batch is a job of one thread. TorchScript runs the jobs, because
Python's threads take turns.

`tanh(x)` is computed as `2 sigmoid(2x) - 1`, so that one sigmoid serves all gates; torch's sigmoid is
also several times faster than its tanh. To save the doubling of `x`, cell gates come doubled. Cells are
kept as `-2c`, because `o tanh(c) = o - 2 o sigmoid(-2c)` is one operation.
"""

import warnings
from contextlib import contextmanager
from typing import Any, Callable, Iterator, List, TypeVar

import torch

Function = TypeVar("Function", bound=Callable[..., Any])


@contextmanager
def _divided_threads(device: torch.device) -> Iterator[int]:
    """
    While it lasts, an operation is done by one thread, so that there may be several jobs: the number
    of jobs per direction. It is 0 if the jobs should be done one after the other.
    """
    num_threads = torch.get_num_threads()
    if num_threads == 1 or device.type != "cpu":
        yield 0
        return
    torch.set_num_threads(1)
    try:
        yield num_threads // 2
    finally:
        torch.set_num_threads(num_threads)


def _scripted(function: Function) -> Function:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return torch.jit.script(function)
        except (OSError, RuntimeError):
            # Without its source or on a Python that TorchScript does not know, it is slower.
            return function


def _read(
    gate_inputs: torch.Tensor,
    weight: torch.Tensor,
    closings: torch.Tensor,
    has_padding: List[bool],
    gates: torch.Tensor,
    cells: torch.Tensor,
    outputs: torch.Tensor,
    is_backward: bool,
) -> int:
    """
    One direction. Returns its number of steps.

    # Parameters

    gate_inputs : `torch.Tensor`
        Shape `(batch_size, length, 4 * hidden_size)`; overwritten if gates are not kept.
    weight : `torch.Tensor`
        Shape `(4 * hidden_size, hidden_size)`.
    closings : `torch.Tensor`
        What closes the gates at padding, shape `(length, batch_size, 1)`.
    has_padding : `List[bool]`
        Whether any sequence has padding there.
    gates : `torch.Tensor`
        To be filled, shape `(length, batch_size, 4 * hidden_size)`; `(0, ...)` if they are not kept.
    cells : `torch.Tensor`
        To be filled, shape `(num_kept, batch_size, hidden_size)`.
    outputs : `torch.Tensor`
        To be filled, shape `(batch_size, length, hidden_size)`.
    is_backward : `bool`
    """
    length = gate_inputs.size(1)
    # Shape: (hidden_size, 4 * hidden_size)
    weight = weight.t().contiguous()
    # Shape: (batch_size, hidden_size)
    hidden = torch.zeros_like(cells[0])
    # Shape: (batch_size, hidden_size)
    cell = torch.zeros_like(hidden)
    # Shape: (batch_size, hidden_size)
    sigmoid_cell = torch.empty_like(hidden)
    for step in range(length):
        word = length - 1 - step if is_backward else step
        # Shape: (batch_size, 4 * hidden_size)
        all_gates = gate_inputs[:, word]
        if gates.size(0) == 0:
            all_gates.addmm_(hidden, weight)
        else:
            all_gates = torch.addmm(all_gates, hidden, weight, out=gates[step])
        if has_padding[word]:
            all_gates.add_(closings[word])
        all_gates.sigmoid_()
        # Shape of each: (batch_size, hidden_size)
        in_, forget, cell_gate, out = all_gates.chunk(4, dim=-1)
        # -2c = f * -2c - 2i * (2 sigmoid(..) - 1)
        # Shape: (batch_size, hidden_size)
        new_cell = cells[step % cells.size(0)]
        torch.mul(forget, cell, out=new_cell)
        new_cell.addcmul_(in_, cell_gate, value=-4).add_(in_, alpha=2)
        # h = o * tanh(c)
        # Shape: (batch_size, hidden_size)
        hidden = outputs[:, word]
        torch.sigmoid(new_cell, out=sigmoid_cell)
        torch.addcmul(out, out, sigmoid_cell, value=-2, out=hidden)
        cell = new_cell
    return length


def _read_back(
    grad_outputs: torch.Tensor,
    weight: torch.Tensor,
    gates: torch.Tensor,
    cells: torch.Tensor,
    grad_inputs: torch.Tensor,
    is_backward: bool,
) -> int:
    """
    The gradients of one direction. Returns its number of steps. Of the parameters, which are those of
    `_read`, `gates` become their own gradients and `cells` the hidden states.
    """
    length = grad_outputs.size(1)
    # Shape: (batch_size, hidden_size), of -2c
    grad_cell = torch.zeros_like(cells[0])
    # Shape: (batch_size, hidden_size)
    no_cell = torch.zeros_like(grad_cell)
    # Shape: (batch_size, hidden_size)
    grad_hidden = torch.empty_like(grad_cell)
    # Shape: (batch_size, hidden_size)
    tanh_cell = torch.empty_like(grad_cell)
    # Shape: (batch_size, hidden_size)
    scratch = torch.empty_like(grad_cell)
    # Shape: (batch_size, 4 * hidden_size)
    factors = torch.empty_like(gates[0])
    # Shape of each: (batch_size, hidden_size)
    in_factor, forget_factor, cell_factor, out_factor = factors.chunk(4, dim=-1)
    for later_steps in range(length):
        step = length - 1 - later_steps
        word = later_steps if is_backward else step
        # Shape: (batch_size, 4 * hidden_size)
        all_gates = gates[step]
        # Shape of each: (batch_size, hidden_size)
        in_, forget, cell_gate, out = all_gates.chunk(4, dim=-1)
        # Shape: (batch_size, hidden_size)
        cell = cells[step]
        # Shape: (batch_size, hidden_size)
        old_cell = cells[step - 1] if step > 0 else no_cell
        if later_steps == 0:
            grad_hidden.copy_(grad_outputs[:, word])
        else:
            torch.addmm(grad_outputs[:, word], gates[step + 1], weight, out=grad_hidden)
        torch.sigmoid(cell, out=tanh_cell)
        tanh_cell.mul_(-2).add_(1)
        # tanh'(c) = 1 - tanh(c)^2
        torch.mul(grad_hidden, out, out=scratch)
        grad_cell.sub_(scratch, alpha=0.5)
        grad_cell.addcmul_(scratch.mul_(tanh_cell), tanh_cell, value=0.5)
        # What each gate was multiplied with, times sigmoid' = s - s^2.
        torch.mul(grad_cell, -4, out=scratch)
        torch.sub(cell_gate, 0.5, out=in_factor)
        in_factor.mul_(scratch)
        torch.mul(old_cell, grad_cell, out=forget_factor)
        torch.mul(in_, scratch, out=cell_factor)
        torch.mul(tanh_cell, grad_hidden, out=out_factor)
        grad_cell.mul_(forget)
        # What is not needed any more makes room.
        torch.mul(out, tanh_cell, out=cell)
        all_gates.addcmul_(all_gates, all_gates, value=-1).mul_(factors)
        grad_inputs[:, word].copy_(all_gates)
    return length


def _start_forward(
    gate_inputs: torch.Tensor,
    weights: torch.Tensor,
    mask: torch.Tensor,
    gates: torch.Tensor,
    cells: torch.Tensor,
    outputs: torch.Tensor,
    num_parts: int,
) -> List[torch.jit.Future[int]]:
    """
    Starts what `run_forward` waits for.

    # Parameters

    num_parts : `int`
        How many jobs per direction; 0 if it is done at once.
    """
    is_padding = ~mask
    # sigmoid(x - 10,000) is exactly 0: a gate that gets this is closed.
    # Shape: (length, batch_size, 1)
    closings = is_padding.t().unsqueeze(-1).to(gate_inputs.dtype) * -1e4
    has_padding: List[bool] = is_padding.any(dim=0).tolist()
    gates, cells, weights = gates.detach(), cells.detach(), weights.detach()
    inputs_of_directions = gate_inputs.detach().chunk(2, dim=-1)
    outputs_of_directions = outputs.detach().chunk(2, dim=-1)
    jobs: List[torch.jit.Future[int]] = []
    num_rows = max(-(-mask.size(0) // max(num_parts, 1)), 1)
    for direction in range(2):
        for begin in range(0, mask.size(0), num_rows):
            end = begin + num_rows
            rows = (
                inputs_of_directions[direction][begin:end],
                weights[direction],
                closings[:, begin:end],
                has_padding,
                gates[direction, :, begin:end],
                cells[direction, :, begin:end],
                outputs_of_directions[direction][begin:end],
                direction == 1,
            )
            if num_parts == 0:
                _read(*rows)
            else:
                jobs.append(torch.jit.fork(_read, *rows))
    return jobs


def _start_backward(
    grad_outputs: torch.Tensor,
    weights: torch.Tensor,
    gates: torch.Tensor,
    cells: torch.Tensor,
    grad_inputs: torch.Tensor,
    num_parts: int,
) -> List[torch.jit.Future[int]]:
    """
    Starts what `run_backward` waits for.

    # Parameters

    num_parts : `int`
        How many jobs per direction; 0 if it is done at once.
    """
    gates, cells, weights = gates.detach(), cells.detach(), weights.detach()
    outputs_of_directions = grad_outputs.detach().chunk(2, dim=-1)
    inputs_of_directions = grad_inputs.detach().chunk(2, dim=-1)
    jobs: List[torch.jit.Future[int]] = []
    batch_size = grad_outputs.size(0)
    num_rows = max(-(-batch_size // max(num_parts, 1)), 1)
    for direction in range(2):
        for begin in range(0, batch_size, num_rows):
            end = begin + num_rows
            rows = (
                outputs_of_directions[direction][begin:end],
                weights[direction],
                gates[direction, :, begin:end],
                cells[direction, :, begin:end],
                inputs_of_directions[direction][begin:end],
                direction == 1,
            )
            if num_parts == 0:
                _read_back(*rows)
            else:
                jobs.append(torch.jit.fork(_read_back, *rows))
    return jobs


def _wait(jobs: List[torch.jit.Future[int]]) -> int:
    """
    Waits for all jobs; returns how many steps they took.

    This is apart from their start because after waiting TorchScript goes on in the thread of a job. Such
    a thread may let go of what it has got a little later than it is done. If it were then the last to
    hold a tensor that Python knows, and Python was about to end, the process would be aborted. So jobs
    get tensors that Python does not know (`detach`) and return none, and here there are only jobs.
    """
    num_steps = 0
    for job in jobs:
        num_steps += torch.jit.wait(job)
    return num_steps


_scripted_start_forward = _scripted(_start_forward)
_scripted_start_backward = _scripted(_start_backward)
_scripted_wait = _scripted(_wait)


def run_forward(
    gate_inputs: torch.Tensor,
    weights: torch.Tensor,
    mask: torch.Tensor,
    gates: torch.Tensor,
    cells: torch.Tensor,
    outputs: torch.Tensor,
) -> None:
    """
    Both directions, see `run_bidirectional_lstm`.

    # Parameters

    gate_inputs, weights, mask : `torch.Tensor`
    gates : `torch.Tensor`
        To be filled, shape `(2, length, batch_size, 4 * hidden_size)`. If it is `(2, 0, ...)` they are not
        kept, and the memory of `gate_inputs` is used.
    cells : `torch.Tensor`
        To be filled, shape `(2, num_kept, batch_size, hidden_size)`. If `num_kept` is 1 each step
        overwrites the one before.
    outputs : `torch.Tensor`
        To be filled, shape `(batch_size, length, 2 * hidden_size)`.
    """
    with _divided_threads(mask.device) as num_parts:
        _scripted_wait(
            _scripted_start_forward(gate_inputs, weights, mask, gates, cells, outputs, num_parts)
        )


def run_backward(
    grad_outputs: torch.Tensor,
    weights: torch.Tensor,
    gates: torch.Tensor,
    cells: torch.Tensor,
    grad_inputs: torch.Tensor,
) -> None:
    """
    The gradients of both directions.

    # Parameters

    grad_outputs, weights : `torch.Tensor`
    gates, cells : `torch.Tensor`
        As `run_forward` left them. They become the gates' gradients and the hidden states.
    grad_inputs : `torch.Tensor`
        To be filled, shape `(batch_size, length, 2 * 4 * hidden_size)`.
    """
    with _divided_threads(gates.device) as num_parts:
        _scripted_wait(
            _scripted_start_backward(grad_outputs, weights, gates, cells, grad_inputs, num_parts)
        )
