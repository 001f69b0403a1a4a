from typing import List, NamedTuple, Optional, Sequence

import torch
from allennlp.common import FromParams
from allennlp.common.checks import ConfigurationError
from allennlp.modules.matrix_attention import MatrixAttention
from allennlp.nn import util

from bidaf_plugin.modules.fusion import Fusion
from bidaf_plugin.nn.concatenation import as_terms, concatenate, mix


class AttentionFlowOutput(NamedTuple):
    """
    query_aware_terms : `List[torch.Tensor]`
        What `G` is the concatenation of, shapes `(batch_size, passage_length, size)`.
    passage_question_attention : `torch.Tensor`
        `a`, shape `(batch_size, passage_length, question_length)`: how much each context word
        attends to each query word. Each row sums to 1.
    question_passage_attention : `torch.Tensor`
        `b`, shape `(batch_size, passage_length)`: the context words that matter to the query. Sums
        to 1. None without query-to-context attention.
    """

    query_aware_terms: List[torch.Tensor]
    passage_question_attention: torch.Tensor
    question_passage_attention: Optional[torch.Tensor]

    @property
    def query_aware_passage(self) -> torch.Tensor:
        """`G`, shape `(batch_size, passage_length, output_dim)`."""
        return concatenate(self.query_aware_terms)


class BiAttention(torch.nn.Module, FromParams):
    """
    The attention flow layer of
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603) (Seo et al., ICLR 2017). It links
    the contextual vectors of the context, `H`, with those of the query, `U`, in both directions:

    - `S_tj = alpha(h_t, u_j)`, the similarity of each context word and each query word (Eq. 1);
    - context to query: `a_t = softmax_j(S_t:)`, `u~_t = sum_j a_tj u_j`;
    - query to context: `b = softmax_t(max_j S_tj)`, `h~ = sum_t b_t h_t`;
    - `G_t = beta(h_t, u~_t, h~)` (Eq. 2).

    The attention is memory-less: no step depends on another, and nothing is summarised away.

    # Parameters

    similarity : `MatrixAttention`
        `alpha`. The paper's choice `w^T [h; u; h * u]` is AllenNLP's `linear` with the combination
        `"x,y,x*y"`.
    fusion : `Fusion`
        `beta`. The ablation "No Q2C attention" is a fusion with `query_to_context` false.
    context_to_query : `bool`, optional (default = `True`)
        False is the ablation "No C2Q attention": `u~` is the mean of the query's vectors.
    num_hops : `int`, optional (default = `1`)
        How often the passage attends. Before each hop after the first it has taken in what it saw:
        `h_t + tanh(W_k g_t + b_k)`. (The paper's future work: "multiple hops of the attention layer".)
    """

    def __init__(
        self,
        similarity: MatrixAttention,
        fusion: Fusion,
        context_to_query: bool = True,
        num_hops: int = 1,
    ) -> None:
        super().__init__()
        if not context_to_query and not fusion.uses_attended_passage():
            raise ConfigurationError(
                "attention without context_to_query and without query_to_context attends to nothing: "
                "leave one of them on"
            )
        if num_hops < 1:
            raise ConfigurationError(f"num_hops must be 1 or more, not {num_hops}")
        self._similarity = similarity
        self._fusion = fusion
        self._context_to_query = context_to_query
        self._hops: Sequence[torch.nn.Linear] = torch.nn.ModuleList(  # type: ignore[assignment]
            torch.nn.Linear(fusion.get_output_dim(), fusion.get_input_dim())
            for _ in range(num_hops - 1)
        )

    def get_input_dim(self) -> int:
        """`2d`, the size of the contextual vectors."""
        return self._fusion.get_input_dim()

    def get_output_dim(self) -> int:
        """`d_G`, the size of a query-aware vector."""
        return self._fusion.get_output_dim()

    def forward(
        self,
        encoded_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        encoded_question: torch.Tensor,
        question_mask: torch.Tensor,
    ) -> AttentionFlowOutput:
        """
        # Parameters

        encoded_passage : `torch.Tensor`
            `H`, shape `(batch_size, passage_length, encoding_dim)`.
        passage_mask : `torch.BoolTensor`
            Shape `(batch_size, passage_length)`.
        encoded_question : `torch.Tensor`
            `U`, shape `(batch_size, question_length, encoding_dim)`.
        question_mask : `torch.BoolTensor`
            Shape `(batch_size, question_length)`.

        # Returns

        `AttentionFlowOutput`
            Of the last hop.
        """
        output = self._attend(encoded_passage, passage_mask, encoded_question, question_mask)
        for hop in self._hops:
            # Shape: (batch_size, passage_length, encoding_dim)
            encoded_passage = encoded_passage + torch.tanh(hop(output.query_aware_passage))
            output = self._attend(encoded_passage, passage_mask, encoded_question, question_mask)
        return output

    def _attend(
        self,
        encoded_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        encoded_question: torch.Tensor,
        question_mask: torch.Tensor,
    ) -> AttentionFlowOutput:
        # Shape: (batch_size, passage_length, question_length)
        similarity = self._similarity(encoded_passage, encoded_question)
        # Equal similarities make the softmax a mean over the question.
        # Shape: (batch_size, passage_length, question_length)
        passage_question_attention = util.masked_softmax(
            similarity if self._context_to_query else torch.zeros_like(similarity),
            question_mask.unsqueeze(1),
            memory_efficient=True,
        )
        # Shape: (batch_size, passage_length, encoding_dim)
        attended_question = mix(passage_question_attention, encoded_question)
        question_passage_attention, attended_passage = None, None
        if self._fusion.uses_attended_passage():
            # Shape: (batch_size, passage_length)
            largest_similarity = similarity.masked_fill(
                ~question_mask.unsqueeze(1), util.min_value_of_dtype(similarity.dtype)
            ).amax(dim=-1)
            # Shape: (batch_size, passage_length)
            question_passage_attention = util.masked_softmax(
                largest_similarity, passage_mask, memory_efficient=True
            )
            # Shape: (batch_size, 1, encoding_dim)
            attended_passage = question_passage_attention.unsqueeze(1) @ encoded_passage
        # Eq. 2. Shape: (batch_size, passage_length, output_dim)
        query_aware = self._fusion(encoded_passage, attended_question, attended_passage)
        return AttentionFlowOutput(
            as_terms(query_aware), passage_question_attention, question_passage_attention
        )
