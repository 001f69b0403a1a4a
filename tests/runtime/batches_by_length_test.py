import random

import pytest

from bidaf_plugin.data.samplers import batches_by_length


class TestBatchesByLength:
    def test_texts_of_similar_length_come_together(self) -> None:
        assert batches_by_length([3, 9, 4, 8, 3], batch_size=2) == [[1, 3], [2, 0], [4]]
        assert batches_by_length([3, 9, 4, 8, 3]) == [[1, 3, 2, 0, 4]]
        assert batches_by_length([]) == []

    @pytest.mark.parametrize("max_tokens", [1, 30, 100])
    def test_no_batch_has_more_tokens_than_allowed(self, max_tokens: int) -> None:
        draw = random.Random(0).randint
        lengths = [draw(0, 40) for _ in range(300)]
        batches = batches_by_length(lengths, 16, max_tokens)
        assert sorted(index for batch in batches for index in batch) == list(range(300))
        for batch in batches:
            assert len(batch) <= 16
            # One that is longer has a batch of its own.
            assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= max_tokens

    def test_second_lengths_decide_among_equal_ones(self) -> None:
        assert batches_by_length([5, 5, 5], 2, second_lengths=[1, 3, 2]) == [[1, 2], [0]]

    def test_texts_with_the_same_key_stay_together_if_they_fit(self) -> None:
        lengths, keys = [4, 3, 4, 3, 3, 3], "abacbb"
        assert batches_by_length(lengths, 3, keys=keys) == [[0, 2], [1, 4, 5], [3]]
        assert batches_by_length(lengths, 2, keys=keys) == [[0, 2], [1, 4], [5, 3]]
