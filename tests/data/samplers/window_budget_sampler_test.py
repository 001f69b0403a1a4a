import random
from typing import Dict, List, Sequence, Tuple

import numpy
import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import TextField
from allennlp.data.vocabulary import Vocabulary

from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.data.fields.windowed_text_field import WindowedTextField
from bidaf_plugin.data.samplers import WindowBudgetSampler
from tests.cloze_helpers import TINY_CLOZE


def instances_with(
    sizes: Sequence[Tuple[int, int]], question_lengths: Sequence[int] = ()
) -> List[Instance]:
    """Instances with so many windows of such a length, and questions of one word or as given."""
    question_lengths = question_lengths or [1] * len(sizes)
    return [
        Instance(
            {
                "question": TextField([Token("w")] * question_length),
                "passage": WindowedTextField(
                    ["w"] * length, {"w": Token("w")}, numpy.array([(0, length)] * windows)
                ),
            }
        )
        for (windows, length), question_length in zip(sizes, question_lengths, strict=True)
    ]


class TestWindowBudgetSampler:
    def test_no_batch_is_beyond_the_budget(self) -> None:
        generator = random.Random(0)
        sizes = [(generator.randint(1, 40), generator.randint(5, 19)) for _ in range(300)]
        instances = instances_with(sizes)
        sampler = WindowBudgetSampler(batch_size=10, max_windows=100, max_words=1500)
        batches = list(sampler.get_batch_indices(instances))
        assert sorted(index for batch in batches for index in batch) == list(range(300))
        for batch in batches:
            num_windows = sum(sizes[index][0] for index in batch)
            longest = max(sizes[index][1] for index in batch)
            assert len(batch) <= 10 and num_windows <= 100 and num_windows * longest <= 1500
        # Most batches are nearly full.
        assert len(batches) < 2 * sum(windows for windows, _ in sizes) / 100

    @pytest.mark.parametrize("limits", [{"max_windows": 100}, {"max_words": 100 * 19}])
    def test_padding_is_bounded_whatever_the_mix(self, limits: Dict[str, int]) -> None:
        # One long article among short ones: 91 + 9 windows of 10 questions become 10 * 91 of padding.
        sizes = [(1, 19)] * 100 + [(91, 19)] + [(1, 19)] * 100
        sampler = WindowBudgetSampler(batch_size=200, shuffle=False, **limits)
        batches = list(sampler.get_batch_indices(instances_with(sizes)))
        for batch in batches:
            assert len(batch) * max(sizes[index][0] for index in batch) <= 8 * 100
        # 100 short ones, the long one with 7 of them (8 * 91 < 8 * 100), the rest.
        assert [len(batch) for batch in batches] == [100, 8, 93]

    def test_a_question_beyond_the_budget_is_alone(self) -> None:
        sampler = WindowBudgetSampler(batch_size=10, max_windows=10, shuffle=False)
        batches = list(sampler.get_batch_indices(instances_with([(3, 19), (50, 19), (3, 19)])))
        assert batches == [[0], [1], [2]]

    @pytest.mark.parametrize("limits", [{"max_windows": 20}, {"max_words": 20 * 19}])
    def test_windows_with_very_long_questions_count_more(self, limits: Dict[str, int]) -> None:
        # Each window is read with its question.
        sampler = WindowBudgetSampler(batch_size=100, shuffle=False, **limits)
        sizes = [(5, 19)] * 12
        for question_length, num_together in [(60, 4), (120, 2), (121, 1), (1000, 1)]:
            instances = instances_with(sizes, [question_length] * 12)
            batches = list(sampler.get_batch_indices(instances))
            assert [len(batch) for batch in batches] == [num_together] * (12 // num_together)

    def test_batch_size_alone(self) -> None:
        sampler = WindowBudgetSampler(batch_size=2, shuffle=False)
        batches = list(sampler.get_batch_indices(instances_with([(100, 19)] * 5)))
        assert batches == [[0, 1], [2, 3], [4]]
        assert sampler.get_batch_size() == 2

    def test_whole_articles_of_similar_length_are_together(self) -> None:
        lengths = [(1, length) for length in range(100, 1100, 10)]
        sampler = WindowBudgetSampler(batch_size=10, max_words=10**6, length_noise=0.01)
        for batch in sampler.get_batch_indices(instances_with(lengths)):
            assert max(batch) - min(batch) < 20

    def test_windows_of_equal_length_are_mixed(self) -> None:
        sampler = WindowBudgetSampler(batch_size=10, max_windows=200)
        sizes = [(windows, 19) for windows in range(1, 21)] * 10
        instances = instances_with(sizes)
        random.seed(5)
        first = list(sampler.get_batch_indices(instances))
        assert first != list(sampler.get_batch_indices(instances))
        assert any(len({sizes[index][0] for index in batch}) > 5 for batch in first)

    def test_counting_draws_no_random_numbers(self) -> None:
        instances = instances_with([(n % 7 + 1, n % 5 + 10) for n in range(50)])
        sampler = WindowBudgetSampler(batch_size=6, max_windows=20)
        random.seed(3)
        count = sampler.get_num_batches(instances)
        assert count == len(list(sampler.get_batch_indices(instances)))

    def test_wrong_limits(self) -> None:
        with pytest.raises(ConfigurationError, match="batch_size must be 1 or more, not None"):
            WindowBudgetSampler.from_params(Params({"batch_size": None}))
        with pytest.raises(ConfigurationError, match="max_windows must be 1 or more, not 0"):
            WindowBudgetSampler(batch_size=1, max_windows=0)

    def test_in_a_data_loader(self) -> None:
        loader = MultiProcessDataLoader(
            BidafClozeReader(),
            str(TINY_CLOZE),
            batch_sampler=WindowBudgetSampler(batch_size=3, max_windows=14),
            max_instances_in_memory=4,
            quiet=True,
        )
        loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
        ids = []
        for batch in loader:
            words = batch["passage"]["tokens"]["tokens"]
            assert (words != 0).any(dim=-1).sum() <= 14
            ids += [metadata["id"] for metadata in batch["metadata"]]
        assert len(ids) == len(set(ids)) == 6
