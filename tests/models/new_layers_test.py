"""
What people write who try something else than the paper: each layer here keeps to the docstring of its base
class, and knows nothing of what makes others fast.
"""

from typing import Any, Dict, List, Optional

import pytest
import torch
from allennlp.modules.matrix_attention import MatrixAttention
from allennlp.modules.seq2seq_encoders import Seq2SeqEncoder
from allennlp.training.metrics import CategoricalAccuracy

from bidaf_plugin.modules.fusion import Fusion
from bidaf_plugin.modules.output_layers import OutputLayer
from tests.helpers import as_tensors, build_model, read_tiny, tiny_params


@MatrixAttention.register("new_negative_distance")
class NegativeDistance(MatrixAttention):
    """`alpha(h, u) = -|h - u|`"""

    def forward(self, matrix_1: torch.Tensor, matrix_2: torch.Tensor) -> torch.Tensor:
        return -torch.cdist(matrix_1, matrix_2)


@Fusion.register("new_sum")
class SumFusion(Fusion):
    """`beta(h, u~, h~) = h + u~ + h~`"""

    def __init__(self, encoding_dim: int) -> None:
        super().__init__()
        self._encoding_dim = encoding_dim

    def uses_attended_passage(self) -> bool:
        return True

    def get_input_dim(self) -> int:
        return self._encoding_dim

    def get_output_dim(self) -> int:
        return self._encoding_dim

    def forward(
        self,
        encoded_passage: torch.Tensor,
        attended_question: torch.Tensor,
        attended_passage: Optional[torch.Tensor],
    ) -> torch.Tensor:
        assert attended_passage is not None
        return encoded_passage + attended_question + attended_passage


@Seq2SeqEncoder.register("doubling")
class Doubling(Seq2SeqEncoder):
    """An encoder with a vector twice as large for each word."""

    def __init__(self, input_dim: int) -> None:
        super().__init__()
        self._linear = torch.nn.Linear(input_dim, 2 * input_dim)

    def get_input_dim(self) -> int:
        return self._linear.in_features

    def get_output_dim(self) -> int:
        return self._linear.out_features

    def is_bidirectional(self) -> bool:
        return False

    def forward(self, inputs: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        return self._linear(inputs) * mask.unsqueeze(-1)


@OutputLayer.register("first_token")
class FirstTokenLayer(OutputLayer):
    """`softmax(w^T [G; M])`, the first token of the first answer, and nothing else."""

    def __init__(self, query_aware_dim: int, modeled_dim: int) -> None:
        super().__init__()
        self._dims = query_aware_dim, modeled_dim
        self._scorer = torch.nn.Linear(query_aware_dim + modeled_dim, 1)
        self._accuracy = CategoricalAccuracy()

    def get_query_aware_dim(self) -> int:
        return self._dims[0]

    def get_modeled_dim(self) -> int:
        return self._dims[1]

    def forward(  # type: ignore[override]
        self,
        query_aware_passage: torch.Tensor,
        modeled_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        answer_spans: torch.Tensor,
    ) -> Dict[str, torch.Tensor]:
        logits = self._scorer(torch.cat([query_aware_passage, modeled_passage], dim=-1))
        logits = logits.squeeze(-1).masked_fill(~passage_mask, -1e9)
        loss = torch.nn.functional.cross_entropy(logits, answer_spans[:, 0, 0])
        return {"logits": logits, "loss": loss}

    def update_metrics(  # type: ignore[override]
        self,
        output_dict: Dict[str, torch.Tensor],
        metadata: List[Dict[str, Any]],
        answer_spans: torch.Tensor,
    ) -> None:
        self._accuracy(output_dict["logits"], answer_spans[:, 0, 0])

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return {"accuracy": self._accuracy.get_metric(reset)}


def with_new_layers(*names: str) -> Dict[str, Any]:
    """The tiny experiment with some of the layers above."""
    params = tiny_params()
    model = params["model"]
    if "alpha" in names:
        model["attention"]["similarity"] = {"type": "new_negative_distance"}
    if "beta" in names:
        model["attention"]["fusion"] = {"type": "new_sum", "encoding_dim": 10}
        model["modeling_layer"]["input_size"] = 10
        model["output_layer"]["query_aware_dim"] = 10
        model["output_layer"]["end_encoder"]["input_size"] = 10 + 3 * 10
    if "encoder" in names:
        model["contextual_layer"] = {"type": "doubling", "input_dim": 10}
        for sizes, name in (
            (model["attention"]["similarity"], "tensor_1_dim"),
            (model["attention"]["similarity"], "tensor_2_dim"),
            (model["attention"]["fusion"], "encoding_dim"),
        ):
            sizes[name] = 20
        model["modeling_layer"]["input_size"] = 80
        model["output_layer"]["query_aware_dim"] = 80
        model["output_layer"]["end_encoder"]["input_size"] = 80 + 3 * 10
    if "output" in names:
        model["output_layer"] = {
            "type": "first_token",
            "query_aware_dim": model["output_layer"]["query_aware_dim"],
            "modeled_dim": 10,
        }
    return params


@pytest.mark.parametrize("names", ["alpha", "beta", "encoder", "output", "alpha beta output"])
def test_layers_written_from_the_docstrings_alone_learn(names: str) -> None:
    params = with_new_layers(*names.split())
    instances = read_tiny(params)
    model = build_model(params, instances).train()
    tensors = as_tensors(instances, model.vocab)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(**tensors)["loss"]
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    assert model.get_metrics(reset=True)
