from typing import Any

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules.matrix_attention import DotProductMatrixAttention

from bidaf_plugin.modules.bi_attention import AttentionFlowOutput, BiAttention
from bidaf_plugin.modules.fusion import ConcatFusion, MlpFusion


def make_attention(query_to_context: bool = True, **choices: Any) -> BiAttention:
    torch.manual_seed(0)
    return BiAttention(DotProductMatrixAttention(), ConcatFusion(4, query_to_context), **choices)


class TestBiAttention:
    def setup_method(self) -> None:
        torch.manual_seed(1)
        self.passage = torch.randn(2, 5, 4)
        self.passage_mask = torch.arange(5).unsqueeze(0) < torch.tensor([[5], [3]])
        self.question = torch.randn(2, 3, 4)
        self.question_mask = torch.arange(3).unsqueeze(0) < torch.tensor([[2], [3]])

    def run(self, attention: BiAttention) -> AttentionFlowOutput:
        return attention(self.passage, self.passage_mask, self.question, self.question_mask)

    def test_values(self) -> None:
        """Both directions for the first example, whose question has two words."""
        output = self.run(make_attention())
        passage, question = self.passage[0], self.question[0, :2]
        similarity = passage @ question.T
        attended_question = similarity.softmax(dim=1) @ question
        attention_on_passage = similarity.max(dim=1).values.softmax(dim=0)
        attended_passage = attention_on_passage @ passage
        expected = [
            passage,
            attended_question,
            passage * attended_question,
            passage * attended_passage,
        ]
        torch.testing.assert_close(output.query_aware_passage[0], torch.cat(expected, dim=-1))
        assert output.question_passage_attention is not None
        torch.testing.assert_close(output.question_passage_attention[0], attention_on_passage)
        assert not output.question_passage_attention[1, 3:].any()
        assert not output.passage_question_attention[0, :, 2:].any()

    @pytest.mark.parametrize(
        "choices",
        [{}, {"context_to_query": False}, {"query_to_context": False}, {"num_hops": 3}],
        ids=str,
    )
    def test_the_content_of_padding_does_not_matter(self, choices: Any) -> None:
        attention = make_attention(**choices)
        before = self.run(attention).query_aware_passage[self.passage_mask]
        self.passage[~self.passage_mask] = 50.0
        self.question[~self.question_mask] = -50.0
        after = self.run(attention).query_aware_passage[self.passage_mask]
        torch.testing.assert_close(after, before)

    def test_without_context_to_query_u_is_the_mean_of_the_question(self) -> None:
        output = self.run(make_attention(context_to_query=False))
        for i, length in enumerate((2, 3)):
            weights = output.passage_question_attention[i]
            torch.testing.assert_close(
                weights[:, :length], torch.full_like(weights[:, :length], 1 / length)
            )
            assert not weights[:, length:].any()
            # u~ is the second of the four terms.
            mean = self.question[i, :length].mean(dim=0)
            attended_question = output.query_aware_passage[i, :, 4:8]
            torch.testing.assert_close(attended_question, mean.expand(5, 4))

    def test_without_context_to_query_the_other_direction_stays(self) -> None:
        both = self.run(make_attention())
        one = self.run(make_attention(context_to_query=False))
        assert one.question_passage_attention is not None
        torch.testing.assert_close(one.question_passage_attention, both.question_passage_attention)
        torch.testing.assert_close(
            one.query_aware_passage[:, :, 12:], both.query_aware_passage[:, :, 12:]
        )

    def test_without_query_to_context_there_is_no_term_with_h(self) -> None:
        both = self.run(make_attention())
        attention = make_attention(query_to_context=False)
        one = self.run(attention)
        assert one.question_passage_attention is None
        assert attention.get_output_dim() == 12
        torch.testing.assert_close(one.query_aware_passage, both.query_aware_passage[:, :, :12])
        # No word of the passage knows of the others.
        self.passage[:, 0] += 1
        torch.testing.assert_close(
            self.run(attention).query_aware_passage[:, 1:],
            one.query_aware_passage[:, 1:],
        )

    @pytest.mark.parametrize("query_to_context", [True, False])
    def test_hops(self, query_to_context: bool) -> None:
        """Each further hop attends with a passage that has taken in what the hop before saw."""
        attention = make_attention(query_to_context, num_hops=3)
        assert len(attention._hops) == 2
        one_hop = make_attention(query_to_context)
        expected = self.run(one_hop)
        encoded_passage = self.passage
        for hop in attention._hops:
            encoded_passage = encoded_passage + torch.tanh(hop(expected.query_aware_passage))
            expected = one_hop(
                encoded_passage, self.passage_mask, self.question, self.question_mask
            )
        output = self.run(attention)
        assert output.query_aware_passage.shape == (2, 5, attention.get_output_dim())
        torch.testing.assert_close(output.query_aware_passage, expected.query_aware_passage)
        torch.testing.assert_close(
            output.passage_question_attention, expected.passage_question_attention
        )
        assert not torch.equal(output.query_aware_passage, self.run(one_hop).query_aware_passage)

    def test_hops_fit_a_fusion_of_another_size(self) -> None:
        attention = BiAttention(DotProductMatrixAttention(), MlpFusion(4), num_hops=2)
        assert attention.get_input_dim() == attention.get_output_dim() == 4
        assert self.run(attention).query_aware_passage.shape == (2, 5, 4)

    @pytest.mark.parametrize("num_hops", [0, -1])
    def test_fewer_than_one_hop_is_refused(self, num_hops: int) -> None:
        with pytest.raises(ConfigurationError, match=f"1 or more, not {num_hops}"):
            make_attention(num_hops=num_hops)

    def test_no_direction_at_all_is_refused(self) -> None:
        with pytest.raises(ConfigurationError, match="attends to nothing"):
            make_attention(query_to_context=False, context_to_query=False)
