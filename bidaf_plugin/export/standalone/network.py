from typing import Any, Dict, List, NamedTuple, Optional

import torch

from bidaf_plugin.export.standalone.attention import Attention
from bidaf_plugin.export.standalone.embedders import TextEmbedder
from bidaf_plugin.export.standalone.encoders import Encoder, Question
from bidaf_plugin.export.standalone.span_output import Prediction, SpanOutput
from bidaf_plugin.export.standalone.tensors import Tensors, part


class Batch(NamedTuple):
    """
    words : `List[str]`
        The distinct words of the batch.
    questions, passages : `torch.LongTensor`
        Shapes `(num_questions, question_length)` and `(num_passages, passage_length)`: as places in
        `words`, padded with -1.
    passage_of_question : `torch.LongTensor`
        Shape `(num_questions,)`: the passage that each question is about.
    """

    words: List[str]
    questions: torch.Tensor
    passages: torch.Tensor
    passage_of_question: torch.Tensor


class Network:
    """
    [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603) (Seo et al., ICLR 2017) in
    evaluation, from named tensors: what the model `attention_flow` with the output layer `span`
    computes.

    # Parameters

    settings : `Dict[str, Any]`
        What the layers are: see `describe_network`.
    vocabulary : `Dict[str, List[str]]`
        The words and characters of each namespace in the order of their indices.
    tensors : `Tensors`
    """

    def __init__(
        self, settings: Dict[str, Any], vocabulary: Dict[str, List[str]], tensors: Tensors
    ) -> None:
        self._embed = TextEmbedder(settings["embedders"], vocabulary, tensors)
        self._contextual = Encoder(settings["contextual"], part(tensors, "contextual"))
        self._attention: Optional[Attention] = None
        if settings["attention"] is not None:
            self._attention = Attention(settings["attention"], part(tensors, "attention"))
        self._modeling = Encoder(settings["modeling"], part(tensors, "modeling"))
        self._output = SpanOutput(settings["output"], part(tensors, "output"))

    @property
    def no_answer_logits(self) -> Optional[List[float]]:
        """Of start and end: that there is no answer. None for models that do not know of it."""
        logits = self._output.no_answer_logits
        return None if logits is None else logits.tolist()

    @torch.no_grad()
    def __call__(self, batch: Batch, max_answer_length: Optional[int]) -> Prediction:
        # Shape: (num_words, embedding_dim)
        vectors = self._embed(batch.words)
        question = Question(self._encode(batch.questions, vectors), batch.questions >= 0)
        # Shape: (num_questions, passage_length, encoding_dim)
        passage = self._encode(batch.passages, vectors)[batch.passage_of_question]
        # Shape: (num_questions, passage_length)
        mask = (batch.passages >= 0)[batch.passage_of_question]
        query_aware = passage
        if self._attention is not None:
            query_aware = self._attention(passage, mask, question)
        # Shape: (num_questions, passage_length, modeled_dim)
        modeled = self._modeling(query_aware, mask, question)
        return self._output(query_aware, modeled, mask, max_answer_length)

    def _encode(self, texts: torch.Tensor, vectors: torch.Tensor) -> torch.Tensor:
        """The third layer. Shape: (num_texts, length, encoding_dim)"""
        # Shape: (num_texts, length, embedding_dim)
        embedded = torch.nn.functional.embedding(texts.clamp(min=0), vectors)
        return self._contextual(embedded, texts >= 0)
