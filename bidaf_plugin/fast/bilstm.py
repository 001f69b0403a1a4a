"""
One layer of a bidirectional LSTM on the CPU: the product with its input for many words at once, then the
recurrence by `kernels.cpp`. Values and gradients are those of `torch.nn.LSTM` after dropout.

Two things make it fast beside the recurrence itself. Padding is left out: a batch is cut into groups of
passages of similar length, whose words are packed one after the other. And what the layer reads, the dropped
concatenation of several tensors, is made for one group at a time, and again for the gradient, so that it never
leaves the processor's cache and is not kept.
"""

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

import torch

from bidaf_plugin.fast import native
from bidaf_plugin.fast.native import DropoutMask, first_derivatives_only
from bidaf_plugin.fast.native import can_run as can_run
from bidaf_plugin.fast.products import linear, multiply, multiply_transposed, pack, product_type

# Large enough for fast products, small enough to need little memory.
_WORDS_OF_GROUP = 2048
# A question or a few, for which it takes more time than it saves to look for what is the same.
_FEW_WORDS = 1024
# For matrices of every new shape oneDNN compiles code, and keeps it. So there are only a few shapes: matrices
# have some rows at their end that are not used.
_ROWS_ARE_MULTIPLES_OF = 64
_FEW_ROWS_ARE_MULTIPLES_OF = 16


def run_layer(
    forward_lstm: torch.nn.LSTM,
    backward_lstm: torch.nn.LSTM,
    terms: Sequence[torch.Tensor],
    mask: torch.Tensor,
    dropout: float = 0.0,
    prepared: Optional["Prepared"] = None,
    is_by_text: bool = False,
) -> torch.Tensor:
    """
    # Parameters

    forward_lstm, backward_lstm : `torch.nn.LSTM`
        Of one layer, not bidirectional themselves.
    terms : `Sequence[torch.Tensor]`
        What the inputs are the concatenation of: shapes `(batch_size, length, size)`, or
        `(batch_size, 1, size)` for what all words of a sequence have in common.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`, padding at the end.
    dropout : `float`, optional (default = `0.0`)
        The share of the inputs that is dropped.
    prepared : `Prepared`, optional (default = `None`)
        What `prepare` has made of the weights.
    is_by_text : `bool`, optional (default = `False`)
        Whether the same numbers of all words of a text are dropped.

    # Returns

    `torch.Tensor`
        Shape `(batch_size, length, 2 * hidden_size)`, zero at padding.
    """
    weights = (*forward_lstm.all_weights[0], *backward_lstm.all_weights[0])
    tensors = (*(native.with_vectors_in_a_row(term) for term in terms), *weights)
    is_trained = torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)
    if is_trained or prepared is None or prepared.states != _states(weights):
        prepared = _arrange(weights)
    if not is_trained and not dropout and 0 < mask.numel() <= _FEW_WORDS:
        return _run_few_words(prepared, tensors[:-8], mask)
    dropout_mask = DropoutMask.draw(dropout, is_by_text)
    return _BiLstm.apply(mask, dropout_mask, is_trained, prepared, *tensors)


class Prepared(NamedTuple):
    """
    The weights of both directions, as the products need them.

    # Parameters

    input_weight : `torch.Tensor`
        Shape `(2 * 4 * hidden_size, input_size)`.
    bias : `torch.Tensor`
        Shape `(2 * 4 * hidden_size,)`.
    recurrent_weights : `torch.Tensor`
        Shape `(2 * 4 * hidden_size, hidden_size)`.
    packed_weight : `torch.Tensor`, optional
        `input_weight` in an order that is the library's own.
    states : `Any`
        The addresses and versions of the weights: what is prepared is only used while they are the same.
    """

    input_weight: torch.Tensor
    bias: torch.Tensor
    recurrent_weights: torch.Tensor
    packed_weight: Optional[torch.Tensor] = None
    states: Any = None


def prepare(forward_lstm: torch.nn.LSTM, backward_lstm: torch.nn.LSTM) -> Prepared:
    """Arranges the weights once, for many questions that are answered one after the other."""
    weights = (*forward_lstm.all_weights[0], *backward_lstm.all_weights[0])
    with torch.no_grad():
        arranged = _arrange(weights)
    packed_weight = pack(arranged.input_weight)
    return arranged._replace(packed_weight=packed_weight, states=_states(weights))


def _arrange(weights: Sequence[torch.Tensor]) -> Prepared:
    return Prepared(
        _join(weights[0], weights[4]),
        torch.cat([weights[2] + weights[3], weights[6] + weights[7]]),
        _join(weights[1], weights[5]),
    )


def _states(weights: Sequence[torch.Tensor]) -> List[Tuple[int, int]]:
    return [(weight.data_ptr(), weight._version) for weight in weights]


def lay_out(forward_lstm: torch.nn.LSTM, backward_lstm: torch.nn.LSTM) -> None:
    """
    Puts the matrices of both directions side by side in memory: together they are one matrix, which need not
    be copied for every question. Optimizers, which change them in place, leave them there.
    """
    for name in ("weight_ih_l0", "weight_hh_l0"):
        parameters = [lstm.get_parameter(name) for lstm in (forward_lstm, backward_lstm)]
        joined = torch.cat([parameter.data for parameter in parameters])
        for parameter, rows in zip(parameters, joined.chunk(2), strict=True):
            parameter.data = rows


def _join(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """One matrix with the rows of both, without a copy if they are side by side in memory."""
    storage = first.untyped_storage()
    if (
        storage.data_ptr() == second.untyped_storage().data_ptr()
        and second.storage_offset() == first.storage_offset() + first.numel()
        and first.is_contiguous()
        and second.is_contiguous()
    ):
        return first.detach().as_strided((2 * first.size(0), first.size(1)), first.stride())
    return torch.cat([first, second])


class _Group(NamedTuple):
    """Some passages of a batch, the longest first, whose words are the rows of one matrix."""

    # Their indices in the batch, their numbers of words, and the row of the first word of each.
    passages: torch.Tensor
    lengths: torch.Tensor
    starts: torch.Tensor
    num_words: int
    num_rows: int
    padded_length: int

    def arguments(self) -> Tuple[Any, ...]:
        return *self[:3], len(self.passages), self.padded_length


def _divide(mask: torch.Tensor, is_trained: bool = True) -> List[_Group]:
    """
    Cuts a batch into groups of passages of similar length, without padding. Without gradients, for which nothing
    is kept, they may be larger, which is a little faster.
    """
    # Shape: (batch_size,)
    lengths, passages = mask.sum(dim=1).sort(descending=True)
    # Shape: (batch_size,)
    ends = lengths.cumsum(0)
    total = int(ends[-1])
    num_groups = max(1, round(total / (_WORDS_OF_GROUP if is_trained else 2 * _WORDS_OF_GROUP)))
    groups: List[_Group] = []
    first, num_before = 0, 0
    for last, end in enumerate(ends.tolist()):
        # Groups of about the same size.
        if end * num_groups >= (len(groups) + 1) * total or last == len(ends) - 1:
            members = slice(first, last + 1)
            starts = (ends - lengths)[members] - num_before
            num_words = end - num_before
            num_rows = _round_up(num_words, _ROWS_ARE_MULTIPLES_OF)
            groups.append(
                _Group(
                    passages[members], lengths[members], starts, num_words, num_rows, mask.size(1)
                )
            )
            first, num_before = last + 1, end
    return groups


def _run_few_words(
    prepared: Prepared, terms: Sequence[torch.Tensor], mask: torch.Tensor
) -> torch.Tensor:
    """Without gradients, for a batch as it is, with its padding."""
    num_words, length = mask.numel(), mask.size(1)
    hidden_size = prepared.recurrent_weights.size(1)
    # Shape: (num_rows, input_size)
    rows = terms[0].new_zeros(
        _round_up(num_words, _FEW_ROWS_ARE_MULTIPLES_OF), prepared.input_weight.size(1)
    )
    columns = [term.expand(-1, length, -1).reshape(num_words, -1) for term in terms]
    torch.cat(columns, dim=1, out=rows[:num_words])
    packed_weight = prepared.packed_weight
    # Shape: (num_rows, 2 * 4 * hidden_size)
    gates = linear(
        rows, prepared.input_weight if packed_weight is None else packed_weight, prepared.bias
    )
    # Shape: (batch_size,)
    lengths, passages = mask.sum(dim=1).sort(descending=True)
    group = _Group(passages, lengths, passages * length, num_words, len(rows), length)
    # Shape: (batch_size, length, 2 * hidden_size)
    outputs = rows.new_empty(*mask.shape, 2 * hidden_size)
    arguments = (gates, prepared.recurrent_weights, None, None, None, None, outputs, hidden_size)
    native.call("bilstm_forward", outputs.dtype, *arguments, *group.arguments())
    return outputs


def _round_up(number: int, factor: int) -> int:
    return -(-number // factor) * factor


class _Saved(NamedTuple):
    """
    Products that are made once for several words and then added to their gates, and the terms that are still to
    be multiplied for every word of every passage.

    # Parameters

    terms : `Sequence[torch.Tensor]`
        The terms that are left.
    input_weight : `torch.Tensor`
        The columns of the matrix for these.
    common : `torch.Tensor`, optional
        For all words of a passage, shape `(batch_size, 2 * 4 * hidden_size)`.
    shared : `torch.Tensor`, optional
        For passages that are the same, shape `(num_kinds, length, 2 * 4 * hidden_size)`.
    kinds : `torch.LongTensor`, optional
        Of each passage, shape `(batch_size,)`.
    weights : `torch.Tensor`, optional
        For words whose vectors are mixtures of a few, shape `(batch_size, length, num_vectors)`.
    mixed : `torch.Tensor`, optional
        What they are mixtures of, shape `(batch_size, num_vectors, 2 * 4 * hidden_size)`.
    """

    terms: Sequence[torch.Tensor]
    input_weight: torch.Tensor
    common: Optional[torch.Tensor] = None
    shared: Optional[torch.Tensor] = None
    kinds: Optional[torch.Tensor] = None
    weights: Optional[torch.Tensor] = None
    mixed: Optional[torch.Tensor] = None

    def add_mixtures(self, gates: torch.Tensor, group: _Group) -> None:
        if self.weights is not None and self.mixed is not None:
            arguments = (gates, gates.size(1), self.weights, self.mixed, self.weights.size(2))
            native.call("add_mixtures", gates.dtype, *arguments, *group.arguments())


def _save_products(
    terms: Sequence[torch.Tensor],
    input_weight: torch.Tensor,
    mask: torch.Tensor,
) -> _Saved:
    """
    Without dropout, what is the same for several words is multiplied once, and so are a few vectors in place of
    their mixtures. Which vectors of passages are so is said by what made them (see `nn.concatenation`).
    """
    if len(terms) == 1:
        return _Saved(terms, input_weight)
    saved: Dict[str, Any] = {}
    own_terms, own_columns = [], []
    for term, columns in zip(
        terms, input_weight.split([term.size(-1) for term in terms], dim=1), strict=True
    ):
        distinct, kinds = getattr(term, "taken_from", (term, torch.empty(0)))
        weights, vectors = getattr(term, "mixture_of", (torch.empty(0), term))
        if "common" not in saved and term.size(1) == 1 < mask.size(1):
            # Shape: (batch_size, 2 * 4 * hidden_size)
            saved["common"] = torch.nn.functional.linear(term.squeeze(1), columns)
        elif "shared" not in saved and len(distinct) <= 0.7 * len(term):
            # Shape: (num_kinds, length, 2 * 4 * hidden_size)
            saved.update(shared=linear(distinct, columns), kinds=kinds)
        elif "mixed" not in saved and vectors.size(1) <= 0.5 * term.size(1):
            # Shape: (batch_size, num_vectors, 2 * 4 * hidden_size)
            saved.update(weights=weights.contiguous(), mixed=linear(vectors, columns))
        else:
            own_terms.append(term)
            own_columns.append(columns)
    if not own_terms or not saved:
        return _Saved(terms, input_weight)
    return _Saved(own_terms, torch.cat(own_columns, dim=1), **saved)


class _Inputs:
    """The rows of `[a; b; ...]` after dropout, for a group of passages."""

    def __init__(self, terms: Sequence[torch.Tensor], mask: DropoutMask) -> None:
        self._terms = terms
        self._mask = mask
        self.size = sum(term.size(-1) for term in terms)

    def gather(self, group: _Group, num_more_columns: int = 0) -> torch.Tensor:
        """Shape `(num_rows, size + num_more_columns)`; the last columns are not filled."""
        width = self.size + num_more_columns
        rows = self._terms[0].new_empty(group.num_rows, width)
        rows[group.num_words :] = 0.0
        for term, columns in zip(self._terms, native.columns_of_terms(self._terms), strict=True):
            arguments = (term, rows, width, *columns, *group.arguments(), *self._mask)
            native.call("gather", rows.dtype, *arguments)
        return rows

    def scatter(
        self, group: _Group, grad_rows: torch.Tensor, grad_terms: Sequence[torch.Tensor]
    ) -> None:
        """The gradient of `gather`: from rows to the gradients of the terms."""
        for grad_term, columns in zip(grad_terms, native.columns_of_terms(grad_terms), strict=True):
            arguments = (grad_term, grad_rows, self.size, *columns, *group.arguments(), *self._mask)
            native.call("scatter", grad_rows.dtype, *arguments)


def _linear(
    rows: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, factor_type: torch.dtype
) -> torch.Tensor:
    if factor_type == rows.dtype:
        return linear(rows, weight, bias)
    # The bias keeps its precision, and so does the sum.
    # Shape: (num_rows, output_dim)
    return linear(rows.to(factor_type), weight.to(factor_type)) + bias


class _BiLstm(torch.autograd.Function):
    """
    The tensors are the terms of the inputs, and the weights of the forward and then of the backward
    direction, each `W_ih`, `W_hh`, `b_ih`, `b_hh` as `torch.nn.LSTM` has them, with gates in its order: input,
    forget, cell, output.

    The inputs of the four gates of a word are `z_t = W_ih x_t + W_hh h_{t-1} + b_ih + b_hh`. `kernels.cpp`
    derives their gradient, `dz_t`. The rest follows from the sum, in which every weight is a factor at every
    word:

        dx_t = W_ih^T dz_t
        dW_ih = sum_t dz_t x_t^T      dW_hh = sum_t dz_t h_{t-1}^T      db_ih = db_hh = sum_t dz_t

    With the words as the rows of matrices each is one product: `dX = dZ W_ih`, and both gradients of weights
    are `dZ^T [X; H']`, where `H'` has the state before each word.
    """

    @staticmethod
    def forward(
        ctx: Any,
        mask: torch.Tensor,
        dropout_mask: DropoutMask,
        is_trained: bool,
        prepared: Prepared,
        *tensors: torch.Tensor,
    ) -> torch.Tensor:
        terms: Sequence[torch.Tensor] = tensors[:-8]
        input_weight, bias, recurrent_weights, *_ = prepared
        hidden_size = recurrent_weights.size(1)
        saved = _Saved(terms, input_weight)
        if not is_trained and not dropout_mask.num_dropped:
            saved = _save_products(terms, input_weight, mask)
        inputs = _Inputs(saved.terms, dropout_mask)
        groups = _divide(mask, is_trained)
        weight = saved.input_weight
        if not is_trained and len(groups) > 1:
            packed_weight = pack(weight)
            weight = weight if packed_weight is None else packed_weight
        # Shape: (batch_size, length, 2 * hidden_size)
        outputs = terms[0].new_empty(*mask.shape, 2 * hidden_size)
        kept = []
        factor_type = product_type(input_weight) if is_trained else input_weight.dtype
        for group in groups:
            # The kernel makes the gates of what the input contributes to them, in the same place.
            # Shape: (num_rows, 2 * 4 * hidden_size)
            gates = _linear(inputs.gather(group), weight, bias, factor_type)
            saved.add_mixtures(gates, group)
            # Shape: (num_words, 2 * hidden_size)
            cells = outputs.new_empty(group.num_words, 2 * hidden_size) if is_trained else None
            arguments = (
                gates,
                recurrent_weights,
                saved.common,
                saved.shared,
                saved.kinds,
                cells,
                outputs,
                hidden_size,
            )
            native.call("bilstm_forward", outputs.dtype, *arguments, *group.arguments())
            kept += [gates, cells] if is_trained else []
        if is_trained:
            ctx.groups, ctx.dropout_mask, ctx.factor_type = groups, dropout_mask, factor_type
            ctx.save_for_backward(*tensors, outputs, input_weight, recurrent_weights, *kept)
        return outputs

    @staticmethod
    @first_derivatives_only
    def backward(ctx: Any, grad_outputs: torch.Tensor) -> Any:  # type: ignore[override]
        num_kept = 2 * len(ctx.groups)
        *tensors, outputs, input_weight, recurrent_weights = ctx.saved_tensors[:-num_kept]
        kept = ctx.saved_tensors[-num_kept:]
        terms = tensors[:-8]
        hidden_size = recurrent_weights.size(1)
        inputs = _Inputs(terms, ctx.dropout_mask)
        grad_outputs = grad_outputs.contiguous()
        is_input_trained = any(ctx.needs_input_grad[4:-8])
        grad_terms = [term.new_empty(term.shape) for term in terms if is_input_trained]
        # `dZ^T [X; H']`, with the states of both directions, of which each direction needs one.
        # Shape: (2 * 4 * hidden_size, input_size + 2 * hidden_size)
        grad_weight = input_weight.new_zeros(input_weight.size(0), inputs.size + 2 * hidden_size)
        # Shape: (2 * 4 * hidden_size,)
        grad_bias = input_weight.new_zeros(input_weight.size(0))
        factor_type = ctx.factor_type
        # Shape: (2 * 4 * hidden_size, input_size)
        input_weight = input_weight.to(factor_type)
        for group, gates, cells in zip(ctx.groups, kept[::2], kept[1::2], strict=True):
            # Shape: (num_rows, 2 * 4 * hidden_size)
            grad_gates = torch.empty_like(gates)
            grad_gates[group.num_words :] = 0.0
            arguments = (gates, recurrent_weights, cells, grad_outputs, grad_gates, hidden_size)
            native.call("bilstm_backward", gates.dtype, *arguments, *group.arguments())
            grad_bias += grad_gates.sum(dim=0)
            # Shape: (num_rows, input_size + 2 * hidden_size)
            multiplied = inputs.gather(group, num_more_columns=2 * hidden_size)
            states = (outputs, multiplied, inputs.size, multiplied.size(1), hidden_size)
            native.call("gather_states", gates.dtype, *states, *group.arguments())
            grad_gates = grad_gates.to(factor_type)
            grad_weight += multiply_transposed(grad_gates, multiplied.to(factor_type))
            del multiplied
            if is_input_trained:
                # Shape: (num_rows, input_size)
                grad_rows = multiply(grad_gates, input_weight).to(gates.dtype)
                inputs.scatter(group, grad_rows, grad_terms)
                del grad_rows
        grads = []
        for direction in (0, 1):
            gates_of_direction = slice(
                4 * hidden_size * direction, 4 * hidden_size * (direction + 1)
            )
            first_state = inputs.size + hidden_size * direction
            # Each has memory of its own, the two biases too: optimizers change gradients in place.
            grads += [
                grad_weight[gates_of_direction, : inputs.size].contiguous(),
                grad_weight[gates_of_direction, first_state : first_state + hidden_size].clone(),
                grad_bias[gates_of_direction].clone(),
                grad_bias[gates_of_direction].clone(),
            ]
        return None, None, None, None, *(grad_terms or [None] * len(terms)), *grads
