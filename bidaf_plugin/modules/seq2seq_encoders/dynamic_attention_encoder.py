import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import util
from overrides import overrides

from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import reverse_within_lengths

try:
    from bidaf_plugin.fast import dynamic_attention
except ImportError:  # What is fast can be left out: word by word in torch gives the same.
    dynamic_attention = None  # type: ignore[assignment]


class QuestionAwareEncoder(Seq2SeqEncoder):
    """
    A modelling layer that looks at the question itself, so that it needs no attention layer before
    it: its `forward` takes the encoded question, of the size of its input, and its mask as well.
    """


@Seq2SeqEncoder.register("dynamic_attention")
class DynamicAttentionEncoder(QuestionAwareEncoder):
    """
    The dynamic attention that [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603) is
    compared with: "the attention is dynamically computed within the modeling layer's LSTM", after
    [Bahdanau et al. (2015)](https://arxiv.org/abs/1409.0473) and
    [Wang & Jiang (2016)](https://arxiv.org/abs/1608.07905). At each step, with the state `(c, s)` of
    the step before:

    - `a_j = softmax_j(w^T tanh(W [x; c; s; u_j] + b))` over the query words `j`;
    - `u~ = sum_j a_j u_j`;
    - `(c, s) = LSTM([x; u~; x * u~; |x - u~|], (c, s))`.

    The layer replaces attention flow and modelling layer: `x` is `h` in the first of its layers and
    what the layer below gives in the others. (The authors' code has the logits `w^T [x; c; s; u_j]`
    without the tanh. All terms but the last are then the same for all `j`, so that the softmax drops
    them, and the attention is no longer dynamic; the works which the paper follows have the tanh.)

    Registered as a `Seq2SeqEncoder` with name "dynamic_attention".

    # Parameters

    input_size : `int`
        The size of `x` in the first layer, and of `u`.
    hidden_size : `int`
        `d`, the size of each direction; `input_size` must be `2d`.
    num_layers : `int`, optional (default = `1`)
    dropout : `float`, optional (default = `0.0`)
        On the inputs of the LSTM cells in all layers.
    """

    def __init__(
        self, input_size: int, hidden_size: int, num_layers: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        if input_size != 2 * hidden_size:
            raise ConfigurationError(
                f"dynamic attention compares passage and question vectors: input_size ({input_size}) "
                f"must be 2 * hidden_size ({2 * hidden_size})"
            )
        self._hidden_size = hidden_size
        self._forward_layers, self._backward_layers = (
            torch.nn.ModuleList(
                _DynamicAttentionLstm(hidden_size, dropout) for _ in range(num_layers)
            )
            for _ in range(2)
        )

    @overrides
    def get_input_dim(self) -> int:
        return 2 * self._hidden_size

    @overrides
    def get_output_dim(self) -> int:
        return 2 * self._hidden_size

    @overrides
    def is_bidirectional(self) -> bool:
        return True

    def forward(
        self,
        inputs: torch.Tensor,
        mask: torch.Tensor,
        encoded_question: torch.Tensor,
        question_mask: torch.Tensor,
    ) -> torch.Tensor:
        """
        # Parameters

        inputs : `torch.Tensor`
            Shape `(batch_size, passage_length, input_size)`.
        mask : `torch.BoolTensor`
            Shape `(batch_size, passage_length)`, padding at the end.
        encoded_question : `torch.Tensor`
            `U`, shape `(batch_size, question_length, input_size)`.
        question_mask : `torch.BoolTensor`
            Shape `(batch_size, question_length)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, passage_length, 2 * hidden_size)`, zero at padding.
        """
        outputs = inputs
        for forward_layer, backward_layer in zip(
            self._forward_layers, self._backward_layers, strict=True
        ):
            # Shape: (batch_size, passage_length, hidden_size)
            forward_outputs = forward_layer(outputs, encoded_question, question_mask)
            # Shape: (batch_size, passage_length, hidden_size)
            backward_outputs = reverse_within_lengths(
                backward_layer(
                    reverse_within_lengths(outputs, mask), encoded_question, question_mask
                ),
                mask,
            )
            # Shape: (batch_size, passage_length, 2 * hidden_size)
            outputs = torch.cat([forward_outputs, backward_outputs], dim=-1)
        return outputs * mask.unsqueeze(-1)


class _DynamicAttentionLstm(torch.nn.Module):
    """One direction of one layer."""

    def __init__(self, hidden_size: int, dropout: float) -> None:
        super().__init__()
        self._hidden_size = hidden_size
        encoding_dim = 2 * hidden_size
        # W [x; c; s; u_j] + b as the sum of three projections, each made where its input is known.
        self._input_projection = torch.nn.Linear(encoding_dim, hidden_size)
        self._state_projection = torch.nn.Linear(2 * hidden_size, hidden_size, bias=False)
        self._question_projection = torch.nn.Linear(encoding_dim, hidden_size, bias=False)
        self._scorer = torch.nn.Linear(hidden_size, 1, bias=False)
        self._cell = torch.nn.LSTMCell(4 * encoding_dim, hidden_size)
        self._dropout = torch.nn.Dropout(dropout)

    def forward(
        self, inputs: torch.Tensor, encoded_question: torch.Tensor, question_mask: torch.Tensor
    ) -> torch.Tensor:
        # Shape: (batch_size, passage_length, hidden_size)
        projected_inputs = self._input_projection(inputs)
        # Shape: (batch_size, question_length, hidden_size)
        projected_question = self._question_projection(encoded_question)
        if dynamic_attention is not None and dynamic_attention.can_run(inputs):
            return dynamic_attention.run_direction(
                inputs,
                projected_inputs,
                encoded_question,
                projected_question,
                question_mask,
                self._state_projection,
                self._scorer,
                self._cell,
                self._dropout.p if self.training else 0.0,
            )
        # Shape: (batch_size, hidden_size) for both
        state = cell_state = inputs.new_zeros(inputs.size(0), self._hidden_size)
        states = []
        # Not by index: the gradient of each word would then be as large as all of them together.
        for word, projected_word in zip(inputs.unbind(1), projected_inputs.unbind(1), strict=True):
            # Shape: (batch_size, hidden_size)
            query = projected_word + self._state_projection(torch.cat([cell_state, state], dim=-1))
            # Shape: (batch_size, question_length)
            scores = self._scorer(torch.tanh(query.unsqueeze(1) + projected_question)).squeeze(-1)
            # Shape: (batch_size, question_length)
            attention = util.masked_softmax(scores, question_mask, memory_efficient=True)
            # Shape: (batch_size, encoding_dim)
            attended = (attention.unsqueeze(1) @ encoded_question).squeeze(1)
            # Shape: (batch_size, 4 * encoding_dim)
            cell_input = torch.cat(
                [word, attended, word * attended, (word - attended).abs()], dim=-1
            )
            state, cell_state = self._cell(self._dropout(cell_input), (state, cell_state))
            states.append(state)
        # Shape: (batch_size, passage_length, hidden_size)
        return torch.stack(states, dim=1)
