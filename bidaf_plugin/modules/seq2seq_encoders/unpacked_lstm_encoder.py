from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides

from bidaf_plugin.modules.fast_dropout import FastDropout
from bidaf_plugin.nn.lstm_recurrence import join_directions, run_bidirectional_lstm
from bidaf_plugin.nn.passage_vectors import PassageVectors, WholeVectors

_KERNELS = ("auto", "torch", "unrolled")


class _Permute(torch.autograd.Function):
    """
    Rows of a matrix in the order `order`, which must be its own inverse. The gradient is then the
    same permutation, a plain copy of rows, where autograd would add rows up one by one.
    """

    @staticmethod
    def forward(ctx: Any, rows: torch.Tensor, order: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(order)
        return rows.index_select(0, order)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> Any:
        (order,) = ctx.saved_tensors
        return gradient.index_select(0, order), None


def reverse_within_lengths(sequences: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """
    Each sequence of a batch backwards, with its padding left at the end.

    # Parameters

    sequences : `torch.Tensor`
        Shape `(batch_size, length, dim)`.
    mask : `torch.BoolTensor`
        Shape `(batch_size, length)`, padding at the end.
    """
    batch_size, length, dim = sequences.size()
    # Shape: (1, length)
    positions = torch.arange(length, device=sequences.device).unsqueeze(0)
    # Shape: (batch_size, 1)
    lengths = mask.sum(dim=1, keepdim=True)
    # Shape: (batch_size, length)
    order = torch.where(positions < lengths, lengths - 1 - positions, positions)
    # Shape: (batch_size * length,)
    order = (order + length * torch.arange(batch_size, device=order.device).unsqueeze(1)).flatten()
    return _Permute.apply(sequences.reshape(-1, dim), order).view(batch_size, length, dim)


@Seq2SeqEncoder.register("unpacked_lstm")
class UnpackedLstmEncoder(Seq2SeqEncoder):
    """
    A stacked bidirectional [LSTM](https://doi.org/10.1162/neco.1997.9.8.1735) that gives exactly
    what AllenNLP's `lstm` gives, without packing the sequences, which is several times faster.

    On a GPU it runs torch's kernels on plain padded tensors: padding at the end cannot reach what
    comes before it in the forward direction, and the backward direction reads each sequence reversed
    within its own length, so that its padding too is at the end. On the CPU the product with the input
    is made for all words at once, from the parts of the input where it has parts
    (`PassageVectors`), and `run_bidirectional_lstm` does the rest.

    Registered as a `Seq2SeqEncoder` with name "unpacked_lstm".

    # Parameters

    input_size : `int`
    hidden_size : `int`
        `d`, the size of each direction; the output has `2d`.
    num_layers : `int`, optional (default = `1`)
    dropout : `float`, optional (default = `0.0`)
        Between layers, as in `torch.nn.LSTM`.
    kernel : `str`, optional (default = `"auto"`)
        `"torch"` for torch's kernels, `"unrolled"` for the other way, `"auto"` for what is faster.
    bidirectional : `bool`, optional (default = `True`)
        There is no other choice; the configs of `lstm` have it.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        kernel: str = "auto",
        bidirectional: bool = True,
    ) -> None:
        super().__init__()
        if not bidirectional:
            raise ConfigurationError(
                "unpacked_lstm is bidirectional; for one direction there is lstm"
            )
        if kernel not in _KERNELS:
            raise ConfigurationError(
                f"kernel is {kernel!r}; it must be one of {', '.join(_KERNELS)}"
            )
        self._input_size = input_size
        self._hidden_size = hidden_size
        self._kernel = kernel
        layer_sizes = [input_size] + [2 * hidden_size] * (num_layers - 1)
        self._forward_lstms = self._make_lstms(layer_sizes)
        self._backward_lstms = self._make_lstms(layer_sizes)
        self._dropout = FastDropout(dropout)

    def _make_lstms(self, layer_sizes: List[int]) -> Sequence[torch.nn.LSTM]:
        return torch.nn.ModuleList(  # type: ignore[return-value]
            torch.nn.LSTM(size, self._hidden_size, batch_first=True) for size in layer_sizes
        )

    def to_torch(self) -> torch.nn.LSTM:
        """A bidirectional `torch.nn.LSTM` with the same weights, as inside AllenNLP's `lstm`."""
        lstm = torch.nn.LSTM(
            self._input_size,
            self._hidden_size,
            num_layers=len(self._forward_lstms),
            bidirectional=True,
            batch_first=True,
            dropout=self._dropout.p,
        )
        lstm.load_state_dict(
            {theirs: self.get_parameter(ours).detach() for ours, theirs in self._torch_names()}
        )
        return lstm

    def _torch_names(self) -> Iterator[Tuple[str, str]]:
        """The name of each parameter, here and in a bidirectional `torch.nn.LSTM`."""
        for name, _ in self.named_parameters():
            lstms, layer, parameter = name.split(".")
            suffix = "_reverse" if lstms == "_backward_lstms" else ""
            yield name, f"{parameter.removesuffix('l0')}l{layer}{suffix}"

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *args: Any) -> None:
        # The weights of AllenNLP's `lstm` are welcome: it takes only the config to change over.
        for ours, theirs in self._torch_names():
            if f"{prefix}_module.{theirs}" in state_dict:
                state_dict[prefix + ours] = state_dict.pop(f"{prefix}_module.{theirs}")
        super()._load_from_state_dict(state_dict, prefix, *args)

    @overrides
    def get_input_dim(self) -> int:
        return self._input_size

    @overrides
    def get_output_dim(self) -> int:
        return 2 * self._hidden_size

    @overrides
    def is_bidirectional(self) -> bool:
        return True

    def forward(
        self,
        inputs: Union[torch.Tensor, PassageVectors],
        mask: Optional[torch.Tensor] = None,
    ) -> torch.Tensor:
        """
        # Parameters

        inputs : `Union[torch.Tensor, PassageVectors]`
            Shape `(batch_size, length, input_size)`.
        mask : `torch.BoolTensor`, optional
            Shape `(batch_size, length)`, padding at the end; without it there is none.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, 2 * hidden_size)`, zero at padding.
        """
        vectors = WholeVectors(inputs) if isinstance(inputs, torch.Tensor) else inputs
        if mask is None:
            # Shape: (batch_size, length)
            mask = vectors.whole().new_ones(vectors.whole().shape[:2], dtype=torch.bool)
        unrolled = self._kernel == "unrolled" or (
            self._kernel == "auto"
            and mask.device.type == "cpu"
            and not torch.is_autocast_enabled("cpu")
        )
        run_layer = _run_unrolled if unrolled else _run_torch_kernels
        for layer, lstms in enumerate(zip(self._forward_lstms, self._backward_lstms, strict=True)):
            if layer > 0:
                vectors = vectors.drop(self._dropout)
            # Shape: (batch_size, length, 2 * hidden_size)
            outputs = run_layer(*lstms, vectors, mask)
            vectors = WholeVectors(outputs)
        return outputs


def encode(encoder: Seq2SeqEncoder, vectors: PassageVectors, mask: torch.Tensor) -> torch.Tensor:
    """What `encoder` makes of `vectors`, which only an `UnpackedLstmEncoder` can take by their parts."""
    return encoder(vectors if isinstance(encoder, UnpackedLstmEncoder) else vectors.whole(), mask)


def _run_unrolled(
    forward_lstm: torch.nn.LSTM,
    backward_lstm: torch.nn.LSTM,
    vectors: PassageVectors,
    mask: torch.Tensor,
) -> torch.Tensor:
    weights = join_directions([forward_lstm.all_weights[0], backward_lstm.all_weights[0]])
    # Shape: (batch_size, length, 2 * 4 * hidden_size)
    gate_inputs = vectors.project(weights.input_weight, weights.bias)
    # In mixed precision the products are not of the weights' type.
    recurrent_weights = weights.recurrent_weights.to(gate_inputs.dtype)
    return run_bidirectional_lstm(gate_inputs, recurrent_weights, mask)


def _run_torch_kernels(
    forward_lstm: torch.nn.LSTM,
    backward_lstm: torch.nn.LSTM,
    vectors: PassageVectors,
    mask: torch.Tensor,
) -> torch.Tensor:
    # Shape: (batch_size, length, input_size)
    inputs = vectors.whole()
    # Shape: (batch_size, length, hidden_size)
    forward_outputs, _ = forward_lstm(inputs)
    # Shape: (batch_size, length, hidden_size)
    backward_outputs, _ = backward_lstm(reverse_within_lengths(inputs, mask))
    # Shape: (batch_size, length, 2 * hidden_size)
    outputs = torch.cat([forward_outputs, reverse_within_lengths(backward_outputs, mask)], dim=-1)
    return outputs * mask.unsqueeze(-1)
