import math

import pytest
import torch
from allennlp.common import Params
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder

from bidaf_plugin.modules.seq2seq_encoders import SelfAttentionEncoder
from tests.helpers import without_onednn


def make_encoder() -> SelfAttentionEncoder:
    torch.manual_seed(0)
    return SelfAttentionEncoder(input_dim=6, hidden_dim=4)


def make_simple_encoder() -> SelfAttentionEncoder:
    """
    One number per word, with `x = ReLU(g)`, `S_ts = x_s` and output `g + ReLU(x + 10 x~ + 100 x x~)`.
    """
    # AllenNLP's LinearMatrixAttention needs vectors of two numbers: the second one is always 0.
    encoder = SelfAttentionEncoder(input_dim=1, hidden_dim=2)
    encoder._reduction.weight.data = torch.tensor([[1.0], [0.0]])
    encoder._reduction.bias.data.zero_()
    encoder._similarity._weight_vector.data = torch.tensor([0.0, 0.0, 1.0, 0.0, 0.0, 0.0])
    encoder._expansion.weight.data = torch.tensor([[1.0, 0.0, 10.0, 0.0, 100.0, 0.0]])
    encoder._expansion.bias.data.zero_()
    return encoder


class TestSelfAttentionEncoder:
    def setup_method(self) -> None:
        torch.manual_seed(1)
        self.inputs = torch.randn(3, 5, 6)
        self.mask = torch.arange(5).unsqueeze(0) < torch.tensor([[5], [3], [1]])

    def test_values(self) -> None:
        inputs = torch.tensor([[[1.0], [2.0], [-3.0]]])
        outputs = make_simple_encoder()(inputs, torch.ones(1, 3, dtype=torch.bool))
        # x = (1, 2, 0), and each word attends to the two others.
        first = 2 * math.exp(2) / (math.exp(2) + 1)
        second = math.exp(1) / (math.exp(1) + 1)
        third = (math.exp(1) + 2 * math.exp(2)) / (math.exp(1) + math.exp(2))
        expected = [
            [1 + 1 + 10 * first + 100 * first],
            [2 + 2 + 10 * second + 200 * second],
            [-3 + 10 * third],
        ]
        torch.testing.assert_close(outputs, torch.tensor([expected]))

    def test_the_only_word_attends_to_nothing(self) -> None:
        mask = torch.tensor([[True, False]])
        outputs = make_simple_encoder()(torch.tensor([[[2.0], [7.0]]]), mask)
        assert outputs[0, 0].tolist() == [2 + 2]

    def test_dropout_is_on_what_comes_out(self) -> None:
        encoder = make_encoder()
        outputs = encoder(self.inputs, self.mask)
        encoder._dropout.p = 0.5
        dropped = encoder.train()(self.inputs, self.mask)
        is_kept = dropped != 0
        torch.testing.assert_close(dropped[is_kept], 2 * outputs[is_kept])
        assert 0.2 < is_kept.float().mean() < 0.8

    def test_the_content_of_padding_does_not_matter(self) -> None:
        encoder = make_encoder()
        before = encoder(self.inputs, self.mask)[self.mask]
        self.inputs[~self.mask] = 50.0
        torch.testing.assert_close(encoder(self.inputs, self.mask)[self.mask], before)

    def test_a_batch_gives_what_its_examples_give_alone(self) -> None:
        encoder = make_encoder()
        together = encoder(self.inputs, self.mask)
        for i, length in enumerate((5, 3, 1)):
            alone = encoder(self.inputs[i : i + 1, :length], self.mask[i : i + 1, :length])
            torch.testing.assert_close(together[i : i + 1, :length], alone)

    def test_a_shift_of_all_similarities_changes_nothing(self) -> None:
        """Softmax does not see what is added to all of its inputs."""
        encoder = make_encoder()
        before = encoder(self.inputs, self.mask)[self.mask]
        for shift in (-50.0, 50.0):
            encoder._similarity._bias.data.fill_(shift)
            after = encoder(self.inputs, self.mask)[self.mask]
            torch.testing.assert_close(after, before, rtol=1e-4, atol=1e-4)

    @pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
    def test_half_precision_gives_finite_numbers(self, dtype: torch.dtype) -> None:
        encoder = make_encoder().to(dtype)
        with without_onednn():
            outputs = encoder(self.inputs.to(dtype), self.mask)
            outputs.sum().backward()
        assert torch.isfinite(outputs).all()
        for name, parameter in encoder.named_parameters():
            assert parameter.grad is not None and torch.isfinite(parameter.grad).all(), name

    def test_it_goes_before_a_bilstm(self) -> None:
        params = {
            "type": "compose",
            "encoders": [
                {"type": "self_attention_hop", "input_dim": 6, "hidden_dim": 4},
                {"type": "unpacked_lstm", "input_size": 6, "hidden_size": 2},
            ],
        }
        encoder = Seq2SeqEncoder.from_params(Params(params))
        assert encoder.get_input_dim() == 6 and encoder.get_output_dim() == 4
        outputs = encoder(self.inputs, self.mask)
        assert outputs.shape == (3, 5, 4)
        assert not outputs[~self.mask].any()
