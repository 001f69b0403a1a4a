from typing import List

import torch
from allennlp.modules.token_embedders import TokenEmbedder

from bidaf_plugin.modules import EachTextOnceEmbedder


class Counting(TokenEmbedder):
    """The cumulative sums of the numbers of a text, times a weight, with dropout; it counts the texts."""

    def __init__(self, is_trained: bool) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3), requires_grad=is_trained)
        self.dropout = torch.nn.Dropout(0.5)
        self.num_texts: List[int] = []

    def get_output_dim(self) -> int:
        return 3

    def forward(self, token_ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        self.num_texts.append(len(token_ids))
        return self.dropout(token_ids.cumsum(dim=1).unsqueeze(-1) * self.weight)


class TestEachTextOnceEmbedder:
    def setup_method(self) -> None:
        self.token_ids = torch.tensor([[3, 1], [2, 2], [3, 1], [3, 1]])
        # The last differs in its mask alone.
        self.mask = torch.tensor([[1, 1], [1, 1], [1, 1], [1, 0]]).bool()

    def test_the_same_texts_are_read_once(self) -> None:
        inner = Counting(is_trained=True)
        embedder = EachTextOnceEmbedder(inner).eval()
        embedded = embedder(token_ids=self.token_ids, mask=self.mask)
        assert inner.num_texts == [3]
        assert torch.equal(embedded, inner(self.token_ids, self.mask))
        embedded.sum().backward()
        assert inner.weight.grad is not None
        assert inner.weight.grad.tolist() == [(3 + 4) + (2 + 4) + 2 * (3 + 4)] * 3
        assert embedder.get_output_dim() == 3

    def test_what_is_not_trained_has_no_dropout(self) -> None:
        for is_trained in (False, True):
            inner = Counting(is_trained)
            embedder = EachTextOnceEmbedder(inner).train()
            assert embedder.training
            assert inner.dropout.training == is_trained
