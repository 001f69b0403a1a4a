import random
from typing import Iterable, List, Optional, Sequence

from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance
from overrides import overrides

# The tensors of a batch have as many windows for each question as the one with the most windows has, and
# may be so many times as large as the budget. The model does not read what is padding: it takes some
# 150 bytes a word, while a word that is read takes more than a hundred times as much in training.
_MAX_PADDED = 8


@BatchSampler.register("window_budget")
class WindowBudgetSampler(BatchSampler):
    """
    Batches for the reader `bidaf_cloze` that fit into memory whatever the articles: at most so many
    questions, so many windows and so many words, whichever is reached first. A question that alone
    is beyond the budget has a batch of its own. With all questions padded to the one that has the most
    windows, a batch is at most 8 times as large as the budget, so that a long article is not among many
    short ones.

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
            if limit is not None and limit < 1:
                raise ConfigurationError(f"{name} must be 1 or more, not {limit}")
        self._batch_size = batch_size
        self._max_windows = max_windows
        self._max_words = max_words
        self._shuffle = shuffle
        self._length_noise = length_noise

    @overrides
    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        lengths = [instance["passage"].window_length for instance in instances]
        order = list(range(len(instances)))
        if self._shuffle:
            random.shuffle(order)
            # Equal lengths stay in random order.
            keys = lengths
            if len(set(lengths)) > 1:
                noise = self._length_noise
                keys = [length * random.uniform(1 - noise, 1 + noise) for length in lengths]
            order.sort(key=keys.__getitem__)
        batches: List[List[int]] = []
        num_windows = most_windows = longest = 0
        for index in order:
            windows = instances[index]["passage"].num_windows
            fits = batches and self._fits(
                len(batches[-1]) + 1,
                num_windows + windows,
                max(most_windows, windows),
                max(longest, lengths[index]),
            )
            if not fits:
                batches.append([])
                num_windows = most_windows = longest = 0
            batches[-1].append(index)
            num_windows += windows
            most_windows = max(most_windows, windows)
            longest = max(longest, lengths[index])
        if self._shuffle:
            random.shuffle(batches)
        return batches

    def _fits(self, num_instances: int, num_windows: int, most_windows: int, longest: int) -> bool:
        # Padding counts, too, but less.
        counted = max(num_windows, num_instances * most_windows / _MAX_PADDED)
        return (
            num_instances <= self._batch_size
            and (self._max_windows is None or counted <= self._max_windows)
            and (self._max_words is None or counted * longest <= self._max_words)
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
