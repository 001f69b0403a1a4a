from typing import Tuple

import torch
from allennlp.data import TextFieldTensors
from allennlp.models import Model
from overrides import overrides

from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.nn.passage_vectors import PassageVectors, WholeVectors


@Model.register("plain_attention_flow")
class PlainAttentionFlow(AttentionFlow):
    """
    The model without its shortcuts, to compare with: every word is embedded and every passage encoded
    where it stands, the query-aware passage `G` is one tensor that the later layers read as it is, and a
    batch is never divided among threads.

    Its LSTMs are those of the config; with AllenNLP's `lstm` and the output layer "plain_span" nothing is
    left that computes otherwise than the paper writes it down.

    Registered as a `Model` with name "plain_attention_flow".
    """

    @overrides
    def _encode(self, text: TextFieldTensors, mask: torch.BoolTensor) -> torch.Tensor:
        return self.encode(text).encoded

    @overrides
    def _number_of_parts(self, passage_mask: torch.Tensor) -> int:
        return 1

    @overrides
    def _attend_and_model(
        self,
        encoded_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        encoded_question: torch.Tensor,
        question_mask: torch.Tensor,
    ) -> Tuple[PassageVectors, torch.Tensor]:
        assert self._attention is not None
        attended = self._attention(encoded_passage, passage_mask, encoded_question, question_mask)
        # Shape: (batch_size, passage_length, query_aware_dim)
        query_aware_passage = self._dropout(attended.query_aware_passage.whole())
        # Shape: (batch_size, passage_length, modeled_dim)
        modeled_passage = self._modeling_layer(query_aware_passage, passage_mask)
        return WholeVectors(query_aware_passage), modeled_passage
