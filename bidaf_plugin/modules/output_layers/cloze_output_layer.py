from collections import defaultdict
from typing import Any, Dict, List, Optional

import torch
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.modules.dropped_inputs import score_dropped
from bidaf_plugin.modules.output_layers.output_layer import OutputLayer
from bidaf_plugin.nn.concatenation import Terms, as_terms
from bidaf_plugin.nn.entities import (
    WindowsOfBatch,
    best_entities,
    entity_log_probabilities,
    entity_loss,
)
from bidaf_plugin.training.metrics import ClozeAccuracy


@OutputLayer.register("cloze")
class ClozeOutputLayer(OutputLayer):
    """
    The output layer for the cloze test: the answer is an entity of the article.

    - `p1 = softmax(w1^T [G; M])` over the words of all windows of an article that are entities; "we
      mask out all non-entity words", and there is no `p2`;
    - `P(entity) = sum of p1` over all of its mentions. A mention that is in several windows, because
      they overlap, counts in each: the windows are read separately, and the softmax is over all of
      their words;
    - loss: `-log P(answer)`, averaged over the batch, as a difference of two log-sum-exps.

    Registered as an `OutputLayer` with name "cloze".

    # Parameters

    query_aware_dim : `int`
        The size of a vector of `G`.
    modeled_dim : `int`
        The size of a vector of `M`.
    dropout : `float`, optional (default = `0.2`)
        On `[G; M]`.
    """

    reads_windows = True
    reads_terms = True

    def __init__(self, query_aware_dim: int, modeled_dim: int, dropout: float = 0.2) -> None:
        super().__init__()
        self._query_aware_dim = query_aware_dim
        self._modeled_dim = modeled_dim
        self._dropout = torch.nn.Dropout(dropout)
        self._scorer = torch.nn.Linear(query_aware_dim + modeled_dim, 1)
        self._accuracy = ClozeAccuracy()

    @overrides
    def get_query_aware_dim(self) -> int:
        return self._query_aware_dim

    @overrides
    def get_modeled_dim(self) -> int:
        return self._modeled_dim

    @overrides(check_signature=False)
    def forward(  # type: ignore[override]
        self,
        query_aware_passage: Terms,
        modeled_passage: torch.Tensor,
        passage_mask: torch.Tensor,
        windows: WindowsOfBatch,
        entity_ids: torch.Tensor,
        answer_entity: Optional[torch.Tensor] = None,
    ) -> Dict[str, torch.Tensor]:
        """
        # Parameters

        windows : `WindowsOfBatch`
            Which windows of the batch the passages here are, and whose.
        entity_ids : `torch.LongTensor`
            Shape `(batch_size, max_windows, window_length)`: the candidate each word is, -1 for
            other words and for padding.
        answer_entity : `torch.LongTensor`, optional
            Shape `(batch_size,)`: the right candidate; -1 if it is unknown, -2 if it is known and not
            in the article.

        # Returns

        word_probs : `torch.Tensor`
            `p1`, shape `(batch_size, max_windows, window_length)`, zero where there is no entity.
        entity_log_probs : `torch.Tensor`
            `log P`, shape `(batch_size, num_entities)`; minus infinity for candidates that an
            article does not have.
        best_entity : `torch.LongTensor`
            The most probable candidate, -1 if there is none, shape `(batch_size,)`.
        loss : `torch.Tensor`
            A scalar, if there is an `answer_entity` in the article of any of the questions.
        """
        # Shape: (num_windows, window_length)
        logits = score_dropped(
            self._scorer, self._dropout, [*as_terms(query_aware_passage), modeled_passage]
        )
        batch_size, max_windows, window_length = entity_ids.size()
        # Shape: (num_windows, window_length) and (batch_size, num_entities)
        word_log_probs, entity_log_probs = entity_log_probabilities(
            logits,
            entity_ids.flatten(0, 1)[windows.indices],
            windows.example_of_window,
            num_examples=batch_size,
            num_entities=max(int(entity_ids.max()) + 1, 1),
        )
        # Shape: (batch_size * max_windows, window_length)
        word_probs = word_log_probs.new_zeros(batch_size * max_windows, window_length)
        word_probs[windows.indices] = word_log_probs.detach().exp()
        output_dict = {
            "word_probs": word_probs.view_as(entity_ids),
            "entity_log_probs": entity_log_probs,
            "best_entity": best_entities(entity_log_probs),
        }
        if answer_entity is not None and (answer_entity >= 0).any():
            output_dict["loss"] = entity_loss(entity_log_probs, answer_entity)
        elif self.training:
            raise DataError(
                "a batch of training data has no question with its answer in the article"
            )
        return output_dict

    @overrides(check_signature=False)
    def update_metrics(  # type: ignore[override]
        self,
        output_dict: Dict[str, torch.Tensor],
        metadata: List[Dict[str, Any]],
        entity_ids: torch.Tensor,
        answer_entity: torch.Tensor,
    ) -> None:
        self._accuracy(output_dict["best_entity"], answer_entity)

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self._accuracy.get_metric(reset)

    @overrides
    def make_output_human_readable(
        self, output_dict: Dict[str, torch.Tensor], metadata: List[Dict[str, Any]]
    ) -> Dict[str, Any]:
        """
        # Returns

        id : `List[str]`
        best_entity : `List[Optional[str]]`
            The answers, as the articles name them (`@entity3`); None for an article without entities.
        best_entity_name : `List[Optional[str]]`
            Their real names, where they are known.
        confidence : `List[float]`
            Their probabilities.
        candidates : `List[List[Dict[str, Any]]]`
            All entities of each article, the most probable first, each with `entity`, `name`,
            `probability` and `mentions`: the `word` of the article (from 0), its `characters` in the
            passage (first, and one past the last) and the `probability` that it carried.
        """
        # From the GPU once, and not once for each question.
        # Shape: (batch_size, num_entities)
        entity_probs = output_dict["entity_log_probs"].exp().cpu()
        # Shape: (batch_size, max_windows, window_length)
        word_probs = output_dict["word_probs"].cpu()
        ranked = [
            _rank_candidates(probabilities.tolist(), carried, item)
            for probabilities, carried, item in zip(entity_probs, word_probs, metadata, strict=True)
        ]
        best: List[Dict[str, Any]] = [candidates[0] if candidates else {} for candidates in ranked]
        return {
            "id": [item["id"] for item in metadata],
            "best_entity": [candidate.get("entity") for candidate in best],
            "best_entity_name": [candidate.get("name") for candidate in best],
            "confidence": [candidate.get("probability", 0.0) for candidate in best],
            "candidates": ranked,
        }


def _rank_candidates(
    probabilities: List[float], word_probs: torch.Tensor, item: Dict[str, Any]
) -> List[Dict[str, Any]]:
    words = item["passage"].split()
    # The probability of a word that is in several windows is the sum over these.
    carried: Dict[int, float] = {}
    window_starts = item["window_starts"]
    # The windows behind are padding.
    windows = word_probs[: len(window_starts)].tolist()
    for start, probs in zip(window_starts, windows, strict=True):
        for offset, probability in enumerate(probs):
            if probability > 0:
                carried[start + offset] = carried.get(start + offset, 0.0) + probability
    starts = _find_words(words, item.get("text", item["passage"]))
    mentions_of: Dict[str, List[Dict[str, Any]]] = defaultdict(list)
    for index, probability in sorted(carried.items()):
        entity = words[index]
        mentions_of[entity].append(
            {
                "word": index,
                "characters": [starts[index], starts[index] + len(entity)],
                "probability": probability,
            }
        )
    candidates = [
        {
            "entity": entity,
            "name": name,
            "probability": probabilities[number],
            "mentions": mentions_of[entity],
        }
        for number, (entity, name) in enumerate(
            zip(item["candidates"], item["candidate_names"], strict=True)
        )
    ]
    return sorted(candidates, key=lambda candidate: -candidate["probability"])


def _find_words(words: List[str], text: str) -> List[int]:
    """The first character of each word of a text, whatever the blanks between them."""
    starts, position = [], 0
    for word in words:
        starts.append(text.index(word, position))
        position = starts[-1] + len(word)
    return starts
