import torch
from allennlp.modules.matrix_attention import LinearMatrixAttention
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.nn import util
from overrides import overrides


@Seq2SeqEncoder.register("self_attention_hop")
class SelfAttentionEncoder(Seq2SeqEncoder):
    """
    A hop in which the passage attends to itself, as in
    [Clark & Gardner (2018)](https://arxiv.org/abs/1710.10723). With `x = ReLU(V g + c)`:
    `S_ts = w^T [x_t; x_s; x_t * x_s] + e` (not to itself, `s != t`),
    `x~_t = sum_s softmax_s(S_ts) x_s`, output `g + ReLU(W [x; x~; x * x~] + b)`, of the size of the
    input.

    It goes before the modelling layer, `{type: "compose", encoders: [this, the BiLSTM]}`, or between
    two, which costs less, because their vectors are smaller than `g`. Time and memory are quadratic in the
    length of the passage.

    Registered as a `Seq2SeqEncoder` with name "self_attention_hop".

    # Parameters

    input_dim : `int`
        The size of `g`, and of the output.
    hidden_dim : `int`
        The size of `x`.
    dropout : `float`, optional (default = `0.0`)
        On the output: on what a BiLSTM behind it reads.
    """

    def __init__(self, input_dim: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self._input_dim = input_dim
        self._dropout = torch.nn.Dropout(dropout)
        self._reduction = torch.nn.Linear(input_dim, hidden_dim)
        self._similarity = LinearMatrixAttention(hidden_dim, hidden_dim, "x,y,x*y")
        self._expansion = torch.nn.Linear(3 * hidden_dim, input_dim)

    @overrides
    def get_input_dim(self) -> int:
        return self._input_dim

    @overrides
    def get_output_dim(self) -> int:
        return self._input_dim

    @overrides
    def is_bidirectional(self) -> bool:
        # Each word sees both sides; AllenNLP's `compose` asks for agreement with the BiLSTM.
        return True

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """
        # Parameters

        inputs : `torch.Tensor`
            Shape `(batch_size, length, input_dim)`.
        mask : `torch.BoolTensor`
            Shape `(batch_size, length)`.

        # Returns

        `torch.Tensor`
            Shape `(batch_size, length, input_dim)`.
        """
        # Shape: (batch_size, length, hidden_dim)
        words = torch.relu(self._reduction(inputs))
        # Shape: (batch_size, length, length)
        similarity = self._similarity(words, words)
        # Shape: (length,)
        positions = torch.arange(words.size(1), device=words.device)
        # Shape: (length, length)
        is_other = positions.unsqueeze(0) != positions.unsqueeze(1)
        # Shape: (batch_size, length, length)
        may_attend = mask.unsqueeze(1) & is_other
        # The only word of a passage has nothing to attend to, and gets zeros.
        # Shape: (batch_size, length, length)
        attention = may_attend * util.masked_softmax(similarity, may_attend, memory_efficient=True)
        # Shape: (batch_size, length, hidden_dim)
        attended = attention @ words
        # Shape: (batch_size, length, input_dim)
        outputs = inputs + torch.relu(
            self._expansion(torch.cat([words, attended, words * attended], dim=-1))
        )
        return self._dropout(outputs)
