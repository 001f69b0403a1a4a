"""
One direction of a layer of dynamic attention on the CPU. Values and gradients are those of
`modules.seq2seq_encoders.dynamic_attention_encoder`, which says what is computed.

What depends on no state is multiplied for all words at once: the inputs before, and all gradients of weights
after the last word. What is left goes from word to word, without a graph: few operations, of which each fills
the memory that the next one reads. `tanh(z)` is `2 sigmoid(2 z) - 1`, which torch computes several times faster.
"""

from typing import Any

import torch
from allennlp.nn.util import min_value_of_dtype

from bidaf_plugin.fast import native
from bidaf_plugin.fast.native import DropoutMask, first_derivatives_only
from bidaf_plugin.fast.native import can_run as can_run
from bidaf_plugin.fast.products import linear, multiply, multiply_transposed, product_type


def run_direction(
    inputs: torch.Tensor,
    projected_inputs: torch.Tensor,
    question: torch.Tensor,
    projected_question: torch.Tensor,
    question_mask: torch.Tensor,
    state_projection: torch.nn.Linear,
    scorer: torch.nn.Linear,
    cell: torch.nn.LSTMCell,
    dropout: float,
) -> torch.Tensor:
    """
    # Parameters

    inputs : `torch.Tensor`
        `x`, shape `(batch_size, length, encoding_dim)`.
    projected_inputs : `torch.Tensor`
        What they and the bias add in the tanh, shape `(batch_size, length, hidden_size)`.
    question : `torch.Tensor`
        `u`, shape `(batch_size, question_length, encoding_dim)`.
    projected_question : `torch.Tensor`
        What it adds in the tanh, shape `(batch_size, question_length, hidden_size)`.
    question_mask : `torch.BoolTensor`
        Shape `(batch_size, question_length)`.
    state_projection, scorer : `torch.nn.Linear`
        Without biases.
    cell : `torch.nn.LSTMCell`
    dropout : `float`
        The share of the cell's inputs that is dropped.

    # Returns

    `torch.Tensor`
        `s`, shape `(batch_size, length, hidden_size)`.
    """
    dim = inputs.size(-1)
    # `w^T tanh(z) = 2 w^T sigmoid(2 z)` but for what is the same for all words of the question.
    outputs = _Direction.apply(
        DropoutMask.draw(dropout),
        question_mask,
        inputs.transpose(0, 1).contiguous(),
        2 * projected_inputs.transpose(0, 1),
        question.contiguous(),
        2 * projected_question,
        2 * state_projection.weight,
        2 * scorer.weight.squeeze(0),
        cell.weight_ih[:, :dim],
        torch.cat([cell.weight_ih[:, dim:], cell.weight_hh], dim=1),
        cell.bias_ih + cell.bias_hh,
    )
    # Shape: (batch_size, length, hidden_size)
    return outputs.transpose(0, 1)


class _Direction(torch.autograd.Function):
    """
    The words come first here: `inputs` has the shape `(length, batch_size, encoding_dim)`.

    With `dZ` the gradient of the gates' inputs, `X` the words and `R` what the cell reads beside them at each
    word, `[u~; x * u~; |x - u~|; s]`, the gradients of the weights are `dZ^T X` and `dZ^T R`. With `dQ` the
    gradient of what is added to the projected question, and the states before each word, that of their
    projection is `dQ^T [C; S]`.
    """

    @staticmethod
    def forward(
        ctx: Any, mask: DropoutMask, question_mask: torch.Tensor, *tensors: torch.Tensor
    ) -> torch.Tensor:
        inputs, queries, question, projected_question, state_weight, scorer, *weights = tensors
        length, batch_size, dim = inputs.shape
        hidden_size = queries.size(-1)
        factor_type = product_type(inputs) if any(ctx.needs_input_grad) else inputs.dtype
        word_weight, step_weight = (weight.to(factor_type) for weight in weights[:2])
        factors = factors_of_dropout(mask, inputs)
        # Shape: (length, batch_size, 4 * hidden_size)
        gates = linear((inputs * factors[..., :dim]).to(factor_type), word_weight) + weights[2]
        # Shape: (length, batch_size, 3 * encoding_dim + hidden_size)
        read = inputs.new_empty(length, batch_size, step_weight.size(1), dtype=factor_type)
        # `[c; s]` before each word and after the last.
        # Shape: (length + 1, batch_size, 2 * hidden_size)
        states = inputs.new_zeros(length + 1, batch_size, 2 * hidden_size)
        # Shape: (length, batch_size, question_length)
        attention = inputs.new_empty(length, *question_mask.shape)
        queries, hidden = queries.clone(), torch.empty_like(projected_question)
        no_word, lowest = ~question_mask, min_value_of_dtype(inputs.dtype)
        for word in range(length):
            queries[word].addmm_(states[word], state_weight.t())
            # Shape: (batch_size, question_length, hidden_size)
            torch.add(projected_question, queries[word].unsqueeze(1), out=hidden).sigmoid_()
            # Shape: (batch_size, question_length)
            scores = (hidden @ scorer).masked_fill_(no_word, lowest)
            torch.softmax(scores, dim=-1, out=attention[word])
            # Shape: (batch_size, encoding_dim)
            attended = torch.bmm(attention[word].unsqueeze(1), question).squeeze(1)
            compared = _compare(inputs[word], attended).mul_(factors[word, :, dim:])
            read[word, :, : 3 * dim] = compared
            read[word, :, 3 * dim :] = states[word, :, hidden_size:]
            gates[word] += linear(read[word], step_weight)
            _run_cell(gates[word], states[word], states[word + 1])
        ctx.mask, ctx.factor_type = mask, factor_type
        ctx.save_for_backward(*tensors, queries, attention, read, states, gates)
        return states[1:, :, hidden_size:]

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Any:  # type: ignore[override]
        inputs, _, question, projected_question, state_weight, scorer = ctx.saved_tensors[:6]
        *weights, queries, attention, read, states, gates = ctx.saved_tensors[6:]
        dim, hidden_size = inputs.size(-1), queries.size(-1)
        word_weight, step_weight = (weight.to(ctx.factor_type) for weight in weights[:2])
        factors = factors_of_dropout(ctx.mask, inputs)
        # Shape: (length, batch_size, encoding_dim), of this and of what is attended to
        grad_inputs, grad_attended = torch.empty_like(inputs), torch.empty_like(inputs)
        grad_queries, grad_gates = torch.empty_like(queries), torch.empty_like(gates)
        grad_projected, grad_scorer = torch.zeros_like(projected_question), torch.zeros_like(scorer)
        hidden = torch.empty_like(projected_question)
        # Several times as fast to multiply in this order.
        # Shape: (batch_size, encoding_dim, question_length)
        question_columns = question.transpose(1, 2).contiguous()
        # Shape: (batch_size, 2 * hidden_size)
        grad_state = torch.zeros_like(states[0])
        for word in reversed(range(len(inputs))):
            grad_state[:, hidden_size:] += grad_outputs[word]
            _run_cell_backward(
                gates[word], states[word], states[word + 1], grad_state, grad_gates[word]
            )
            # Shape: (batch_size, 3 * encoding_dim + hidden_size)
            grad_read = multiply(grad_gates[word].to(ctx.factor_type), step_weight).to(inputs.dtype)
            grad_state[:, hidden_size:] = grad_read[:, 3 * dim :]
            # Shape: (batch_size, encoding_dim)
            attended = torch.bmm(attention[word].unsqueeze(1), question).squeeze(1)
            _compare_backward(
                inputs[word],
                attended,
                grad_read[:, : 3 * dim].mul_(factors[word, :, dim:]),
                grad_inputs[word],
                grad_attended[word],
            )
            # Shape: (batch_size, question_length)
            grad_scores = torch.bmm(grad_attended[word].unsqueeze(1), question_columns).squeeze(1)
            grad_scores = torch._softmax_backward_data(
                grad_scores, attention[word], -1, inputs.dtype
            )
            # Shape: (batch_size, question_length, hidden_size)
            torch.add(projected_question, queries[word].unsqueeze(1), out=hidden).sigmoid_()
            grad_scorer.addmv_(hidden.flatten(0, 1).t(), grad_scores.flatten())
            # Of `sigmoid(z)`: the scorer, the same for all words, is multiplied at the end.
            hidden.addcmul_(hidden, hidden, value=-1).mul_(grad_scores.unsqueeze(2))
            grad_projected += hidden
            torch.mul(hidden.sum(dim=1), scorer, out=grad_queries[word])
            grad_state.addmm_(grad_queries[word], state_weight)
        # Shape: (length * batch_size, 4 * hidden_size)
        flat_gates = grad_gates.flatten(0, 1).to(ctx.factor_type)
        dropped = (inputs * factors[..., :dim]).flatten(0, 1).to(ctx.factor_type)
        # Shape: (length, batch_size, encoding_dim)
        grad_words = multiply(flat_gates, word_weight).to(inputs.dtype).view_as(inputs)
        grad_inputs += grad_words * factors[..., :dim]
        return (
            None,
            None,
            grad_inputs,
            grad_queries,
            torch.einsum("tbj,tbd->bjd", attention, grad_attended),
            grad_projected * scorer,
            multiply_transposed(grad_queries.flatten(0, 1), states[:-1].flatten(0, 1)),
            grad_scorer,
            multiply_transposed(flat_gates, dropped).to(inputs.dtype),
            multiply_transposed(flat_gates, read.flatten(0, 1)).to(inputs.dtype),
            grad_gates.sum(dim=(0, 1)),
        )


def _compare(word: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
    """`[u~; x * u~; |x - u~|]`, shape `(batch_size, 3 * encoding_dim)`."""
    return torch.cat([attended, word * attended, (word - attended).abs_()], dim=-1)


def _compare_backward(
    word: torch.Tensor,
    attended: torch.Tensor,
    grad_compared: torch.Tensor,
    grad_word: torch.Tensor,
    grad_attended: torch.Tensor,
) -> None:
    """Fills the gradients of both vectors."""
    # Shape: (batch_size, encoding_dim) for all three
    grad_itself, grad_product, grad_distance = grad_compared.chunk(3, dim=-1)
    grad_distance = (word - attended).sign_().mul_(grad_distance)
    torch.addcmul(grad_distance, grad_product, attended, out=grad_word)
    torch.addcmul(grad_itself, grad_product, word, out=grad_attended).sub_(grad_distance)


def _run_cell(gates: torch.Tensor, before: torch.Tensor, after: torch.Tensor) -> None:
    """
    Makes the inputs of the gates the gates, and fills the states after the word.

    # Parameters

    gates : `torch.Tensor`
        Shape `(batch_size, 4 * hidden_size)`: input, forget, cell, output, as torch has them.
    before, after : `torch.Tensor`
        `[c; s]`, shape `(batch_size, 2 * hidden_size)`.
    """
    size = gates.size(-1) // 4
    gates[:, : 2 * size].sigmoid_()
    gates[:, 2 * size : 3 * size].tanh_()
    gates[:, 3 * size :].sigmoid_()
    # Shape: (batch_size, hidden_size) for all
    input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
    cell, state = after.chunk(2, dim=-1)
    torch.mul(forget_gate, before[:, :size], out=cell).addcmul_(input_gate, candidate)
    torch.mul(output_gate, cell.tanh(), out=state)


def _run_cell_backward(
    gates: torch.Tensor,
    before: torch.Tensor,
    after: torch.Tensor,
    grad_states: torch.Tensor,
    grad_gates: torch.Tensor,
) -> None:
    """
    Fills the gradients of the inputs of the gates, and replaces that of the cell state after the word by that of
    the one before.
    """
    size = gates.size(-1) // 4
    # Shape: (batch_size, hidden_size) for all
    input_gate, forget_gate, candidate, output_gate = gates.chunk(4, dim=-1)
    grad_cell, grad_state = grad_states.chunk(2, dim=-1)
    squashed = after[:, :size].tanh()
    grad_cell += grad_state * output_gate * (1 - squashed * squashed)
    torch.cat(
        [
            grad_cell * candidate * (input_gate * (1 - input_gate)),
            grad_cell * before[:, :size] * (forget_gate * (1 - forget_gate)),
            grad_cell * input_gate * (1 - candidate * candidate),
            grad_state * squashed * (output_gate * (1 - output_gate)),
        ],
        dim=-1,
        out=grad_gates,
    )
    grad_cell *= forget_gate


def factors_of_dropout(mask: DropoutMask, inputs: torch.Tensor) -> torch.Tensor:
    """What the inputs of the cell are multiplied with, shape `(length, batch_size, 4 * encoding_dim)`."""
    length, batch_size, dim = inputs.shape
    if not mask.num_dropped:
        return inputs.new_ones(1).expand(length, batch_size, 4 * dim)
    # Shape: (length, batch_size, 4 * encoding_dim)
    factors = inputs.new_empty(length, batch_size, 4 * dim)
    # The kernel drops parts of the words of passages. Its passages are our words here.
    words = torch.arange(length)
    group = (words, torch.full_like(words, batch_size), words * batch_size, length, batch_size)
    # All read the same row of ones.
    columns = (0, 0, 4 * dim, 0)
    arguments = (inputs.new_ones(4 * dim), factors, 4 * dim, *columns, *group, *mask)
    native.call("gather", inputs.dtype, *arguments)
    return factors
