from typing import Tuple

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.seq2seq_encoders import LstmSeq2SeqEncoder

from bidaf_plugin.modules import UnpackedLstmEncoder
from bidaf_plugin.modules.seq2seq_encoders.unpacked_lstm_encoder import reverse_within_lengths


def twins(num_layers: int, kernel: str) -> Tuple[UnpackedLstmEncoder, LstmSeq2SeqEncoder]:
    """Ours and AllenNLP's packed encoder with the same weights."""
    torch.manual_seed(0)
    packed = LstmSeq2SeqEncoder(6, 4, num_layers, bidirectional=True)
    unpacked = UnpackedLstmEncoder(6, 4, num_layers, kernel=kernel)
    unpacked.load_state_dict(packed.state_dict())
    return unpacked, packed


class TestUnpackedLstmEncoder:
    def setup_method(self) -> None:
        lengths = torch.tensor([9, 3, 1, 7])
        # Shape: (4, 9)
        self.mask = torch.arange(9).unsqueeze(0) < lengths.unsqueeze(1)

    @pytest.mark.parametrize("kernel", ["auto", "torch"])
    def test_values_and_gradients_equal_the_packed_lstm(self, kernel: str) -> None:
        for num_layers in (1, 2):
            unpacked, packed = twins(num_layers, kernel)
            inputs = torch.randn(4, 9, 6)
            outputs, gradients = [], []
            for encoder in (unpacked, packed):
                own_inputs = inputs.clone().requires_grad_()
                output = encoder(own_inputs, self.mask)
                (output * torch.arange(8)).sum().backward()
                outputs.append(output)
                gradient = own_inputs.grad
                assert gradient is not None
                gradients.append(gradient * self.mask.unsqueeze(-1))
            torch.testing.assert_close(outputs[0], outputs[1])
            torch.testing.assert_close(gradients[0], gradients[1])
            for ours, theirs in unpacked._torch_names():
                torch.testing.assert_close(
                    unpacked.get_parameter(ours).grad, getattr(packed._module, theirs).grad
                )

    def test_weights_can_be_taken_over_both_ways(self) -> None:
        unpacked, packed = twins(num_layers=2, kernel="auto")
        given_back = unpacked.to_torch().state_dict()
        assert given_back.keys() == packed._module.state_dict().keys()
        for name, weight in packed._module.state_dict().items():
            assert torch.equal(given_back[name], weight)
        with pytest.raises(RuntimeError, match="size mismatch"):
            UnpackedLstmEncoder(7, 4, 2).load_state_dict(packed.state_dict())

    @pytest.mark.parametrize("kernel", ["auto", "torch"])
    def test_a_projection_starts_as_the_sum_of_both_directions(self, kernel: str) -> None:
        plain, _ = twins(num_layers=2, kernel=kernel)
        projected = UnpackedLstmEncoder(6, 4, 2, kernel=kernel, projection_dim=4)
        projected.load_state_dict(plain.state_dict(), strict=False)
        inputs = torch.randn(4, 9, 6)
        forward, backward = plain(inputs, self.mask).chunk(2, dim=-1)
        outputs = projected(inputs, self.mask)
        assert projected.get_output_dim() == outputs.size(-1) == 4
        torch.testing.assert_close(outputs, torch.tanh(forward + backward))
        assert not outputs[~self.mask].any()
        outputs.sum().backward()
        assert projected.get_parameter("_projection.weight").grad.abs().min() > 0  # type: ignore

    @pytest.mark.parametrize("kernel", ["auto", "torch"])
    def test_variational_dropout_strikes_all_words_of_a_text_alike(self, kernel: str) -> None:
        for is_variational in (True, False):
            torch.manual_seed(0)
            encoder = UnpackedLstmEncoder(
                6, 4, kernel=kernel, variational_dropout=is_variational
            ).train()
            own_inputs = torch.ones(2, 20, 6, requires_grad=True)
            encoder(own_inputs, None, dropout=0.5).sum().backward()
            assert own_inputs.grad is not None
            # Shape: (2, 20, 6)
            is_dropped = own_inputs.grad == 0
            is_same = (is_dropped == is_dropped[:, :1]).all()
            assert is_same == is_variational
            assert is_dropped.any() and not is_dropped.all()
            if is_variational:
                # Each text has its own.
                assert not torch.equal(is_dropped[0], is_dropped[1])

    @pytest.mark.parametrize("kernel", ["auto", "torch"])
    def test_without_a_mask_nothing_is_padding(self, kernel: str) -> None:
        unpacked, packed = twins(num_layers=2, kernel=kernel)
        inputs = torch.randn(4, 9, 6)
        torch.testing.assert_close(unpacked(inputs), packed(inputs, None))

    @pytest.mark.parametrize("kernel", ["auto", "torch"])
    def test_mixed_precision(self, kernel: str) -> None:
        unpacked, _ = twins(num_layers=2, kernel=kernel)
        inputs = torch.randn(4, 9, 6)
        expected = unpacked(inputs, self.mask)
        with torch.autocast("cpu", torch.bfloat16):
            output = unpacked(inputs, self.mask)
        torch.testing.assert_close(output.float(), expected, rtol=0.1, atol=0.05)

    def test_takes_the_config_of_allennlp_s_lstm(self) -> None:
        UnpackedLstmEncoder(6, 4, bidirectional=True)
        with pytest.raises(ConfigurationError, match="bidirectional"):
            UnpackedLstmEncoder(6, 4, bidirectional=False)

    def test_an_unknown_kernel_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="'fast'.*auto, torch, native"):
            UnpackedLstmEncoder(6, 4, kernel="fast")

    def test_padding_is_zero_and_its_content_does_not_matter(self) -> None:
        encoder = UnpackedLstmEncoder(6, 4, 2)
        inputs = torch.randn(4, 9, 6)
        outputs = encoder(inputs, self.mask)
        noisy = torch.where(self.mask.unsqueeze(-1), inputs, torch.full_like(inputs, 50.0))
        torch.testing.assert_close(encoder(noisy, self.mask), outputs)
        assert not outputs[~self.mask].any()

    def test_reversal_keeps_padding_at_the_end(self) -> None:
        sequences = torch.tensor([[[1.0], [2.0], [0.0]], [[3.0], [4.0], [5.0]]])
        mask = torch.tensor([[True, True, False], [True, True, True]])
        reversed_sequences = reverse_within_lengths(sequences, mask)
        assert reversed_sequences.squeeze(-1).tolist() == [[2, 1, 0], [5, 4, 3]]
        assert torch.equal(reverse_within_lengths(reversed_sequences, mask), sequences)
