from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from overrides import overrides

from bidaf_plugin.nn.concatenation import Terms, as_terms, concatenate

try:
    from bidaf_plugin.fast import bilstm, native
except ImportError:  # What is fast can be left out: torch's kernels give the same.
    bilstm = None  # type: ignore[assignment]

_KERNELS = ("auto", "torch", "native")


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
    return sequences.reshape(-1, dim)[order].view(batch_size, length, dim)


@Seq2SeqEncoder.register("unpacked_lstm")
class UnpackedLstmEncoder(Seq2SeqEncoder):
    """
    A stacked bidirectional [LSTM](https://doi.org/10.1162/neco.1997.9.8.1735) that gives exactly
    what AllenNLP's `lstm` gives, without packing the sequences, which is several times faster.

    It runs torch's kernels on plain padded tensors: padding at the end cannot reach what comes before
    it in the forward direction, and the backward direction reads each sequence reversed within its own
    length, so that its padding too is at the end. On the CPU the kernel of `bidaf_plugin.fast` takes
    their place, where it has been built.

    Registered as a `Seq2SeqEncoder` with name "unpacked_lstm".

    # Parameters

    input_size : `int`
    hidden_size : `int`
        `d`, the size of each direction; the output has `2d`.
    num_layers : `int`, optional (default = `1`)
    dropout : `float`, optional (default = `0.0`)
        Between layers, as in `torch.nn.LSTM`.
    kernel : `str`, optional (default = `"auto"`)
        `"torch"` for torch's kernels, `"native"` for that of `bidaf_plugin.fast` or an error, `"auto"`
        for what is faster.
    bidirectional : `bool`, optional (default = `True`)
        There is no other choice; the configs of `lstm` have it.
    variational_dropout : `bool`, optional (default = `False`)
        Dropout, also that of the inputs, strikes the same numbers of all words of a text
        ([Gal & Ghahramani, 2016](https://arxiv.org/abs/1512.05287)).
    projection_dim : `int`, optional (default = `None`)
        With it the output has this size: `tanh(B [h_forward; h_backward])`, where `B` starts as the
        identity for either direction, as in [FastQA](https://arxiv.org/abs/1703.04816) (Weissenborn et
        al., 2017). What comes after has half as much to multiply.
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        dropout: float = 0.0,
        kernel: str = "auto",
        bidirectional: bool = True,
        variational_dropout: bool = False,
        projection_dim: Optional[int] = None,
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
        if kernel == "native" and (bilstm is None or native.library() is None):
            raise ConfigurationError("kernel is 'native', which has not been built on this machine")
        self._input_size = input_size
        self._hidden_size = hidden_size
        self._kernel = kernel
        self._is_by_text = variational_dropout
        layer_sizes = [input_size] + [2 * hidden_size] * (num_layers - 1)
        self._forward_lstms = self._make_lstms(layer_sizes)
        self._backward_lstms = self._make_lstms(layer_sizes)
        self._dropout = torch.nn.Dropout(dropout)
        self._projection: Optional[torch.nn.Linear] = None
        if projection_dim is not None:
            self._projection = torch.nn.Linear(2 * hidden_size, projection_dim, bias=False)
            copies = torch.eye(projection_dim).repeat(1, -(-2 * hidden_size // projection_dim))
            self._projection.weight.data.copy_(copies[:, : 2 * hidden_size])
        # For layers whose weights do not change.
        self._prepared: Optional[List[Any]] = None
        if bilstm is not None:
            for lstms in zip(self._forward_lstms, self._backward_lstms, strict=True):
                bilstm.lay_out(*lstms)

    def __getstate__(self) -> Dict[str, Any]:
        # What is prepared cannot be copied.
        return {**self.__dict__, "_prepared": None}

    def prepare(self) -> None:
        """Makes ready for many short calls: what depends on the weights alone is then computed once."""
        if bilstm is not None and self._kernel != "torch":
            lstms = zip(self._forward_lstms, self._backward_lstms, strict=True)
            self._prepared = [bilstm.prepare(*pair) for pair in lstms]

    @overrides(check_signature=False)
    def train(self, mode: bool = True) -> "UnpackedLstmEncoder":
        if mode:
            self._prepared = None
        return super().train(mode)

    def _make_lstms(self, layer_sizes: List[int]) -> Sequence[torch.nn.LSTM]:
        return torch.nn.ModuleList(  # type: ignore[return-value]
            torch.nn.LSTM(size, self._hidden_size, batch_first=True) for size in layer_sizes
        )

    def to_torch(self) -> torch.nn.LSTM:
        """A bidirectional `torch.nn.LSTM` with the same weights, as inside AllenNLP's `lstm`: no projection."""
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
            if name.startswith("_projection"):
                continue
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
        return 2 * self._hidden_size if self._projection is None else self._projection.out_features

    @overrides
    def is_bidirectional(self) -> bool:
        return True

    def forward(
        self,
        inputs: Terms,
        mask: Optional[torch.Tensor] = None,
        dropout: float = 0.0,
    ) -> torch.Tensor:
        """
        # Parameters

        inputs : `Terms`
            Shape `(batch_size, length, input_size)`, or the terms of their concatenation.
        mask : `torch.BoolTensor`, optional
            Shape `(batch_size, length)`, padding at the end; without it there is none.
        dropout : `float`, optional (default = `0.0`)
            The share of the inputs that is dropped.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, output_dim)`, zero at padding.
        """
        terms = as_terms(inputs)
        if mask is None:
            # Shape: (batch_size, length)
            mask = terms[0].new_ones(terms[0].shape[:2], dtype=torch.bool)
        is_native = bilstm is not None and self._kernel != "torch" and bilstm.can_run(terms[0])
        prepared = self._prepared or [None] * len(self._forward_lstms)
        for forward_lstm, backward_lstm, weights in zip(
            self._forward_lstms, self._backward_lstms, prepared, strict=True
        ):
            # Shape: (batch_size, length, 2 * hidden_size)
            if is_native:
                outputs = bilstm.run_layer(
                    forward_lstm, backward_lstm, terms, mask, dropout, weights, self._is_by_text
                )
            else:
                outputs = _run_layer(
                    forward_lstm, backward_lstm, terms, mask, dropout, self._is_by_text
                )
            terms, dropout = [outputs], self._dropout.p if self.training else 0.0
        if self._projection is not None:
            # Shape: (batch_size, length, projection_dim)
            outputs = torch.tanh(self._projection(outputs))
        return outputs


def _run_layer(
    forward_lstm: torch.nn.LSTM,
    backward_lstm: torch.nn.LSTM,
    terms: Sequence[torch.Tensor],
    mask: torch.Tensor,
    dropout: float,
    is_by_text: bool,
) -> torch.Tensor:
    """One layer by torch's kernels."""
    # Shape: (batch_size, length, input_size)
    inputs = concatenate(terms)
    if is_by_text and dropout:
        # Shape: (batch_size, 1, input_size)
        factors = torch.nn.functional.dropout(torch.ones_like(inputs[:, :1]), dropout)
        # Shape: (batch_size, length, input_size)
        inputs = inputs * factors
    else:
        # Shape: (batch_size, length, input_size)
        inputs = torch.nn.functional.dropout(inputs, dropout)
    # Shape: (batch_size, length, hidden_size)
    forward_outputs, _ = forward_lstm(inputs)
    # Shape: (batch_size, length, hidden_size)
    backward_outputs, _ = backward_lstm(reverse_within_lengths(inputs, mask))
    # Shape: (batch_size, length, 2 * hidden_size)
    outputs = torch.cat([forward_outputs, reverse_within_lengths(backward_outputs, mask)], dim=-1)
    return outputs * mask.unsqueeze(-1)
