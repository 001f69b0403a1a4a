import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from bidaf_plugin.modules.seq2seq_encoders import DynamicAttentionEncoder


def make_encoder(num_layers: int = 2, dropout: float = 0.0) -> DynamicAttentionEncoder:
    """An encoder whose attention is far from even."""
    torch.manual_seed(0)
    encoder = DynamicAttentionEncoder(6, 3, num_layers, dropout)
    with torch.no_grad():
        for parameter in encoder.parameters():
            parameter.mul_(2)
    return encoder


class TestDynamicAttentionEncoder:
    def setup_method(self) -> None:
        torch.manual_seed(1)
        self.passage = torch.randn(3, 7, 6)
        self.mask = torch.arange(7).unsqueeze(0) < torch.tensor([[7], [4], [1]])
        self.question = torch.randn(3, 5, 6)
        self.question_mask = torch.arange(5).unsqueeze(0) < torch.tensor([[3], [5], [1]])

    def run(self, encoder: DynamicAttentionEncoder) -> torch.Tensor:
        return encoder(self.passage, self.mask, self.question, self.question_mask)

    @pytest.mark.parametrize("num_layers", [1, 2])
    def test_the_content_of_padding_does_not_matter(self, num_layers: int) -> None:
        encoder = make_encoder(num_layers)
        before = self.run(encoder)
        self.passage[~self.mask] = 50.0
        torch.testing.assert_close(self.run(encoder), before)
        self.question[~self.question_mask] = -50.0
        torch.testing.assert_close(self.run(encoder), before)

    def test_a_batch_gives_what_its_examples_give_alone(self) -> None:
        encoder = make_encoder()
        together = self.run(encoder)
        assert together.shape == (3, 7, 6)
        for i in range(3):
            length, question_length = int(self.mask[i].sum()), int(self.question_mask[i].sum())
            alone = encoder(
                self.passage[i : i + 1, :length],
                self.mask[i : i + 1, :length],
                self.question[i : i + 1, :question_length],
                self.question_mask[i : i + 1, :question_length],
            )
            torch.testing.assert_close(together[i : i + 1, :length], alone)

    def test_padding_gets_zeros(self) -> None:
        outputs = self.run(make_encoder())
        assert not outputs[~self.mask].any()
        assert outputs[self.mask].all()

    def test_every_word_of_the_question_is_seen(self) -> None:
        encoder = make_encoder(num_layers=1)
        before = self.run(encoder)[0]
        for word in range(3):
            question = self.question.clone()
            question[0, word] += 1
            after = encoder(self.passage, self.mask, question, self.question_mask)[0]
            assert ((after - before).abs().amax(dim=-1) > 1e-4).all()

    def test_attention_depends_on_the_state(self) -> None:
        """
        Permuting earlier words changes what a later word attends to. Cells that forget everything show
        that it is the attention: their output depends on this step's input alone, `[x; u~; ...]`.
        """
        encoder = make_encoder(num_layers=1)
        layer = encoder.get_submodule("_forward_layers.0")
        layer.get_parameter("_cell.weight_hh").data.zero_()
        layer.get_parameter("_cell.bias_ih").data[3:6] = -1000  # the forget gates
        order = [2, 0, 1, 3, 4, 5, 6]

        def fourth_word(passage: torch.Tensor) -> torch.Tensor:
            # In the forward direction.
            outputs = encoder(passage, self.mask, self.question, self.question_mask)
            return outputs[0, 3, :3]

        permuted = self.passage[:, order]
        assert (fourth_word(self.passage) - fourth_word(permuted)).abs().max() > 1e-4
        # Without the projection of the state the attention would not be dynamic.
        layer.get_parameter("_state_projection.weight").data.zero_()
        torch.testing.assert_close(fourth_word(self.passage), fourth_word(permuted))

    def test_dropout_is_used_in_training_only(self) -> None:
        encoder = make_encoder(dropout=0.5).eval()
        assert torch.equal(self.run(encoder), self.run(encoder))
        torch.testing.assert_close(self.run(encoder), self.run(make_encoder()))
        encoder.train()
        assert not torch.equal(self.run(encoder), self.run(encoder))

    def test_sizes(self) -> None:
        params = {"type": "dynamic_attention", "input_size": 8, "hidden_size": 4, "num_layers": 3}
        encoder = Seq2SeqEncoder.from_params(Params(params))
        assert isinstance(encoder, DynamicAttentionEncoder)
        assert encoder.get_input_dim() == encoder.get_output_dim() == 8
        assert encoder.is_bidirectional()
        assert len(encoder._forward_layers) == len(encoder._backward_layers) == 3

    def test_an_input_of_another_size_is_refused_with_both_numbers(self) -> None:
        with pytest.raises(ConfigurationError, match=r"input_size \(7\).*2 \* hidden_size \(6\)"):
            DynamicAttentionEncoder(7, 3)
