from typing import Any, Dict, List

import torch
from allennlp.common import Registrable


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
    # Whether `G` may be a list of the tensors that it is the concatenation of, which saves a copy.
    reads_terms = False

    def get_query_aware_dim(self) -> int:
        """The size of a vector of `G` that this layer expects."""
        raise NotImplementedError

    def get_modeled_dim(self) -> int:
        """The size of a vector of `M` that this layer expects."""
        raise NotImplementedError

    def forward(
        self,
        query_aware_passage: torch.Tensor,
        modeled_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        **targets: torch.Tensor,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        query_aware_passage : `torch.Tensor`
            `G`, shape `(batch_size, passage_length, query_aware_dim)`.
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
