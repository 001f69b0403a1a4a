import pytest
import torch
from allennlp.common import Params

from bidaf_plugin.modules.fusion import ConcatFusion, Fusion, MlpFusion
from bidaf_plugin.nn.concatenation import concatenate


class TestMlpFusion:
    def test_values(self) -> None:
        fusion = MlpFusion(1)
        fusion._linear.weight.data = torch.tensor([[1.0, 10.0, 100.0, 1000.0]])
        fusion._linear.bias.data = torch.tensor([5.0])
        passage = torch.tensor([[[1.0], [-1.0]]])
        attended_question = torch.tensor([[[2.0], [3.0]]])
        attended_passage = torch.tensor([[[4.0]]])
        # h = 1: W [1; 2; 2; 4] + b. h = -1: W [-1; 3; -3; -4] + b is below zero.
        output = fusion(passage, attended_question, attended_passage)
        assert output.tolist() == [[[1 + 20 + 200 + 4000 + 5], [0]]]

    def test_values_without_query_to_context(self) -> None:
        fusion = MlpFusion(1, query_to_context=False)
        fusion._linear.weight.data = torch.tensor([[1.0, 10.0, 100.0]])
        fusion._linear.bias.data = torch.tensor([5.0])
        output = fusion(torch.tensor([[[1.0]]]), torch.tensor([[[2.0]]]), None)
        assert output.tolist() == [[[1 + 20 + 200 + 5]]]

    @pytest.mark.parametrize("query_to_context", [True, False])
    def test_sizes(self, query_to_context: bool) -> None:
        params = {"type": "mlp", "encoding_dim": 6, "query_to_context": query_to_context}
        fusion = Fusion.from_params(Params(params))
        assert isinstance(fusion, MlpFusion)
        assert fusion.get_input_dim() == fusion.get_output_dim() == 6
        assert fusion.uses_attended_passage() is query_to_context
        assert fusion._linear.in_features == (24 if query_to_context else 18)


class TestConcatFusion:
    def test_values(self) -> None:
        passage, attended_question = torch.tensor([[[1.0]]]), torch.tensor([[[2.0]]])
        attended_passage = torch.tensor([[[-3.0]]])
        fusion = ConcatFusion(1)
        terms = fusion(passage, attended_question, attended_passage)
        assert concatenate(terms).tolist() == [[[1, 2, 2, -3]]]
        assert fusion.get_output_dim() == 4
        fusion = ConcatFusion(1, query_to_context=False)
        terms = fusion(passage, attended_question, None)
        assert concatenate(terms).tolist() == [[[1, 2, 2]]]
        assert fusion.get_output_dim() == 3
