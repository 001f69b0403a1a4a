import random
from typing import Iterable, List, NamedTuple, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from overrides import overrides

# The tensors of a batch have as many windows for each question as the one with the most windows has, and
# may be so many times as large as the budget. The model does not read what is padding: it takes some
# 150 bytes a word, while a word that is read takes more than a hundred times as much in training.
_MAX_PADDED = 8
# Every window is read with its question. Those of CNN and the Daily Mail have up to some fifty words; a
# longer one takes as much memory as further windows would.
_LONG_QUESTION = 60


class BatchSize(NamedTuple):
    """How much there is to read in a batch of cloze questions."""

    num_questions: int = 0
    num_windows: int = 0
    most_windows: int = 0
    longest_window: int = 0
    longest_question: int = 0

    def with_one_more(self, instance: Instance) -> "BatchSize":
        """The size if a question is added."""
        question, passage = instance["question"], instance["passage"]
        return BatchSize(
            self.num_questions + 1,
            self.num_windows + passage.num_windows,
            max(self.most_windows, passage.num_windows),
            max(self.longest_window, passage.window_length),
            max(self.longest_question, len(question)),
        )

    @property
    def counted_windows(self) -> float:
        """Padding counts, too, but less; and windows count more if a question is very long."""
        padded_windows = self.num_questions * self.most_windows / _MAX_PADDED
        weight = max(self.longest_question / _LONG_QUESTION, 1.0)
        return weight * max(self.num_windows, padded_windows)

    @property
    def counted_words(self) -> float:
        return self.counted_windows * self.longest_window


@BatchSampler.register("window_budget")
class WindowBudgetSampler(BatchSampler):
    """
    Batches for the reader `bidaf_cloze` that fit into memory whatever the articles: at most so many
    questions, so many windows and so many words, whichever is reached first. A question that alone
    is beyond the budget has a batch of its own. With all questions padded to the one that has the most
    windows, a batch is at most 8 times as large as the budget, so that a long article is not among many
    short ones. With a question of more than 60 words in a batch, say of 120, its windows count twice.

    Questions come in random order, and those with windows of similar length together. (Windows around
    entities all have the same length, so this only sorts whole articles.)

    Registered as a `BatchSampler` with name "window_budget".

    # Parameters

    batch_size : `int`
        The largest number of questions in a batch.
    max_windows : `int`, optional (default = `None`)
        The largest number of windows of all questions of a batch.
    max_words : `int`, optional (default = `None`)
        The largest number of words, counting all windows as long as the longest: for whole articles.
    shuffle : `bool`, optional (default = `True`)
        False: the order of the data, for validation.
    length_noise : `float`, optional (default = `0.1`)
        By what share a length may be taken as longer or shorter, so that batches differ between
        epochs.
    """

    def __init__(
        self,
        batch_size: int,
        max_windows: Optional[int] = None,
        max_words: Optional[int] = None,
        shuffle: bool = True,
        length_noise: float = 0.1,
    ) -> None:
        limits = {"batch_size": batch_size, "max_windows": max_windows, "max_words": max_words}
        for name, limit in limits.items():
            if (limit is None and name == "batch_size") or (limit is not None and limit < 1):
                raise ConfigurationError(f"{name} must be 1 or more, not {limit}")
        self._batch_size = batch_size
        self._max_windows = max_windows
        self._max_words = max_words
        self._shuffle = shuffle
        self._length_noise = length_noise

    @overrides
    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        order = list(range(len(instances)))
        if self._shuffle:
            random.shuffle(order)
            # Equal lengths stay in random order.
            keys = lengths = [instance["passage"].window_length for instance in instances]
            if len(set(lengths)) > 1:
                noise = self._length_noise
                keys = [length * random.uniform(1 - noise, 1 + noise) for length in lengths]
            order.sort(key=keys.__getitem__)
        batches: List[List[int]] = []
        size = BatchSize()
        for index in order:
            larger = size.with_one_more(instances[index])
            if not batches or not self._fits(larger):
                batches.append([])
                larger = BatchSize().with_one_more(instances[index])
            batches[-1].append(index)
            size = larger
        if self._shuffle:
            random.shuffle(batches)
        return batches

    def _fits(self, size: BatchSize) -> bool:
        return (
            size.num_questions <= self._batch_size
            and (self._max_windows is None or size.counted_windows <= self._max_windows)
            and (self._max_words is None or size.counted_words <= self._max_words)
        )

    @overrides
    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        # To count is not to draw: the batches that come next are the ones that were counted.
        state = random.getstate()
        try:
            return len(list(self.get_batch_indices(instances)))
        finally:
            random.setstate(state)

    @overrides
    def get_batch_size(self) -> Optional[int]:
        return self._batch_size
