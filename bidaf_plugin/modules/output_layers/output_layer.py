from typing import Any, Dict, List

import torch
from allennlp.common import Registrable

from bidaf_plugin.nn.passage_vectors import PassageVectors


class OutputLayer(torch.nn.Module, Registrable):
    """
    The sixth layer of [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603), the only one
    that depends on the task: it turns the query-aware passage `G` and the modelled passage `M` into
    an answer, a loss and a score.

    The reader's fields beside `question`, `passage` and `metadata` are the output layer's: the model
    hands them to `forward` by name.
    """

    default_implementation = "span"
    # Whether a passage is a list of windows, which are then read one by one.
    reads_windows = False
    # Whether the output of a batch can be joined from those of its parts.
    can_join_parts = False

    def get_query_aware_dim(self) -> int:
        """The size of a vector of `G` that this layer expects."""
        raise NotImplementedError

    def get_modeled_dim(self) -> int:
        """The size of a vector of `M` that this layer expects."""
        raise NotImplementedError

    def forward(
        self,
        query_aware_passage: PassageVectors,
        modeled_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        **targets: torch.Tensor,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        query_aware_passage : `PassageVectors`
            `G`, of shape `(batch_size, passage_length, query_aware_dim)`, after dropout.
        modeled_passage : `torch.Tensor`
            `M`, shape `(batch_size, passage_length, modeled_dim)`.
        passage_mask : `torch.BoolTensor`
            Shape `(batch_size, passage_length)`.
        targets : `torch.Tensor`
            The reader's other fields: what the gold answer is, in the output layer's own terms. A
            layer that `reads_windows` also gets `windows`, a `WindowsOfBatch`, and the passages
            are the windows.

        # Returns

        `Dict[str, torch.Tensor]`
            The prediction, and `loss` if there are targets.
        """
        raise NotImplementedError

    def join_parts(
        self, parts: List[Dict[str, torch.Tensor]], **targets: torch.Tensor
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        parts : `List[Dict[str, torch.Tensor]]`
            What `forward` returned for parts of a batch, without targets.
        targets : `torch.Tensor`
            Those of the batch.

        # Returns

        `Dict[str, torch.Tensor]`
            What `forward` would have returned for the batch.
        """
        raise NotImplementedError

    def update_metrics(
        self,
        output_dict: Dict[str, torch.Tensor],
        metadata: List[Dict[str, Any]],
        **targets: torch.Tensor,
    ) -> None:
        """Scores the predictions of a batch; called once per batch, if it has targets."""
        raise NotImplementedError

    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        raise NotImplementedError

    def make_output_human_readable(
        self, output_dict: Dict[str, torch.Tensor], metadata: List[Dict[str, Any]]
    ) -> Dict[str, Any]:
        """The answers of a batch as text, one per instance under each key."""
        raise NotImplementedError
