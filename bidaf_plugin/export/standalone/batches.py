"""
Batches of questions on passages of similar length.
"""

from typing import Dict, Iterable, List, Sequence

import torch

from bidaf_plugin.export.standalone.exported_tokenizer import Tokens
from bidaf_plugin.export.standalone.network import Batch

# Questions and padded passage tokens per batch, at most: what fits into the caches of a CPU.
_MAX_QUESTIONS = 128
_MAX_TOKENS = 8_000


def plan_batches(questions: Sequence[Tokens], passages: Sequence[Tokens]) -> List[List[int]]:
    """
    The places of the questions of each batch, the longest passages first. Questions on the same
    passage, which is the same object then, come together, so that it is read once.
    """
    groups: Dict[int, List[int]] = {}
    for place, passage in enumerate(passages):
        groups.setdefault(id(passage), []).append(place)
    batches: List[List[int]] = []
    limit = 0
    for group in sorted(
        groups.values(),
        key=lambda places: (
            -len(passages[places[0]].words),
            -max(len(questions[place].words) for place in places),
        ),
    ):
        while group:
            if not batches or len(batches[-1]) + min(len(group), limit) > limit:
                batches.append([])
                limit = max(1, min(_MAX_QUESTIONS, _MAX_TOKENS // len(passages[group[0]].words)))
            batches[-1] += group[:limit]
            group = group[limit:]
    return batches


def make_batch(questions: Sequence[Tokens], passages: Sequence[Tokens]) -> Batch:
    """The tensors of questions and their passages."""
    number_of_word: Dict[str, int] = {}
    distinct_passages = {id(passage): passage for passage in passages}
    number_of_passage = {key: number for number, key in enumerate(distinct_passages)}
    padded_questions = _pad(questions, number_of_word)
    padded_passages = _pad(distinct_passages.values(), number_of_word)
    # Shape: (num_questions,)
    passage_of_question = torch.tensor([number_of_passage[id(passage)] for passage in passages])
    return Batch(list(number_of_word), padded_questions, padded_passages, passage_of_question)


def _pad(texts: Iterable[Tokens], number_of_word: Dict[str, int]) -> torch.Tensor:
    """Shape: (num_texts, length of the longest)"""
    return torch.nn.utils.rnn.pad_sequence(
        [
            torch.tensor(
                [number_of_word.setdefault(word, len(number_of_word)) for word in text.words]
            )
            for text in texts
        ],
        batch_first=True,
        padding_value=-1,
    )
