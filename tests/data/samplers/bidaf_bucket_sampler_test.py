import random
from typing import Any, Iterable, List

import pytest
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import BatchSampler, Instance, Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.fields import MetadataField, TextField
from allennlp.data.samplers import BucketBatchSampler
from allennlp.data.tokenizers import Token

from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.samplers import BidafBucketSampler
from bidaf_plugin.fast.distinct_words import find_distinct_rows
from tests.helpers import FIXTURES

Batches = List[List[int]]


def make_instances(num_passages: int = 150, seed: int = 0) -> List[Instance]:
    """Passages of 10 to 300 words with 1 to 9 questions each."""
    generator = random.Random(seed)
    instances = []
    for _ in range(num_passages):
        passage = TextField([Token("x")] * generator.randint(10, 300))
        for _ in range(generator.randint(1, 9)):
            question = TextField([Token("x")] * generator.randint(3, 30))
            instances.append(Instance({"passage": passage, "question": question}))
    return instances


def draw(sampler: BatchSampler, instances: List[Instance], seed: int = 1) -> Batches:
    random.seed(seed)
    return list(sampler.get_batch_indices(instances))


def padded_tokens(batch: Iterable[int], instances: List[Instance], name: str = "passage") -> int:
    lengths = [len(instances[index][name]) for index in batch]
    return len(lengths) * max(lengths)


@pytest.fixture(scope="module")
def instances() -> List[Instance]:
    return make_instances()


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("group_passages", [True, False])
@pytest.mark.parametrize("max_tokens", [None, 2_000, 150])
class TestEveryBidafBucketSampler:
    def make(self, max_tokens: Any, group_passages: bool, shuffle: bool) -> BidafBucketSampler:
        return BidafBucketSampler(20, max_tokens, group_passages=group_passages, shuffle=shuffle)

    def test_every_instance_comes_once(
        self, instances: List[Instance], max_tokens: Any, group_passages: bool, shuffle: bool
    ) -> None:
        sampler = self.make(max_tokens, group_passages, shuffle)
        for seed in range(3):
            batches = draw(sampler, instances, seed)
            assert sorted(sum(batches, [])) == list(range(len(instances)))
            assert sampler.get_num_batches(instances) == len(batches)

    def test_batches_keep_to_the_limits(
        self, instances: List[Instance], max_tokens: Any, group_passages: bool, shuffle: bool
    ) -> None:
        for batch in draw(self.make(max_tokens, group_passages, shuffle), instances):
            assert 1 <= len(batch) <= 20
            if max_tokens is not None and len(batch) > 1:
                assert padded_tokens(batch, instances) <= max_tokens

    def test_the_same_seed_gives_the_same_batches(
        self, instances: List[Instance], max_tokens: Any, group_passages: bool, shuffle: bool
    ) -> None:
        sampler = self.make(max_tokens, group_passages, shuffle)
        first, second = draw(sampler, instances), list(sampler.get_batch_indices(instances))
        assert draw(self.make(max_tokens, group_passages, shuffle), instances) == first
        # The next epoch is another one.
        assert (second != first) == shuffle
        # With so few tokens most batches are single questions, which cannot be exchanged.
        if shuffle and max_tokens != 150:
            assert {tuple(sorted(batch)) for batch in first} != {
                tuple(sorted(batch)) for batch in second
            }

    def test_no_instances_no_batches(
        self, max_tokens: Any, group_passages: bool, shuffle: bool
    ) -> None:
        sampler = self.make(max_tokens, group_passages, shuffle)
        assert list(sampler.get_batch_indices([])) == []
        assert sampler.get_num_batches([]) == 0


class TestBidafBucketSampler:
    def test_pads_less_than_allennlp_s(self, instances: List[Instance]) -> None:
        def padding(sampler: BatchSampler, name: str) -> int:
            return sum(padded_tokens(b, instances, name) for b in draw(sampler, instances))

        plain = BucketBatchSampler(20, sorting_keys=["passage"])
        in_order = [list(range(s, s + 20)) for s in range(0, len(instances) - 20, 20)]
        sampler = BidafBucketSampler(20)
        assert padding(sampler, "passage") < padding(plain, "passage")
        assert padding(sampler, "question") < padding(plain, "question")
        assert padding(plain, "passage") < sum(padded_tokens(b, instances) for b in in_order)
        # Without chance there is next to no padding of passages.
        unpadded = sum(len(instance["passage"]) for instance in instances)
        assert padding(BidafBucketSampler(20, shuffle=False), "passage") < 1.05 * unpadded

    @pytest.mark.parametrize("shuffle", [True, False])
    def test_questions_on_a_passage_stay_together(
        self, instances: List[Instance], shuffle: bool
    ) -> None:
        sampler = BidafBucketSampler(20, group_passages=True, shuffle=shuffle)
        batches_of_passage: dict = {}
        for number, batch in enumerate(draw(sampler, instances)):
            for index in batch:
                batches_of_passage.setdefault(id(instances[index]["passage"]), set()).add(number)
        assert all(len(numbers) == 1 for numbers in batches_of_passage.values())

    def test_more_questions_than_fit_are_divided(self) -> None:
        passage = TextField([Token("x")] * 10)
        question = TextField([Token("x")])
        instances = [Instance({"passage": passage, "question": question}) for _ in range(23)]
        sizes = [len(b) for b in draw(BidafBucketSampler(10, group_passages=True), instances)]
        assert sorted(sizes) == [3, 10, 10]

    def test_without_shuffling_the_longest_come_first_and_nothing_is_drawn(
        self, instances: List[Instance]
    ) -> None:
        random.seed(5)
        state = random.getstate()
        batches = list(BidafBucketSampler(20, shuffle=False).get_batch_indices(instances))
        assert random.getstate() == state
        lengths = [len(instances[batch[0]]["passage"]) for batch in batches]
        assert lengths == sorted(lengths, reverse=True)
        assert {len(batch) for batch in batches[:-1]} == {20}

    def test_wrong_limits_are_refused(self) -> None:
        for arguments in ({"batch_size": 0}, {"batch_size": 2, "max_tokens": 0}):
            with pytest.raises(ConfigurationError, match="at least 1"):
                BatchSampler.from_params(Params({"type": "bidaf_bucket", **arguments}))

    def test_in_a_data_loader(self) -> None:
        reader = BidafSquadReader()
        loader = MultiProcessDataLoader(
            reader,
            str(FIXTURES / "squad" / "sample_dev.json"),
            batch_sampler=BidafBucketSampler(8, max_tokens=400, group_passages=True),
            quiet=True,
        )
        loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
        ids = []
        num_batches = 0
        for batch in loader:
            num_batches += 1
            num_questions, num_tokens = batch["passage"]["tokens"]["tokens"].shape
            assert num_questions == 1 or num_questions * num_tokens <= 400
            ids += [item["id"] for item in batch["metadata"]]
        assert num_batches == len(loader)
        assert sorted(ids) == sorted(i["metadata"]["id"] for i in loader.iter_instances())

    @pytest.mark.parametrize("num_workers", [0, 1, 2])
    def test_passages_stay_together_when_workers_read_them(self, num_workers: int) -> None:
        loader = MultiProcessDataLoader(
            BidafSquadReader(),
            str(FIXTURES / "squad" / "sample_dev.json"),
            batch_sampler=BidafBucketSampler(20, group_passages=True),
            num_workers=num_workers,
            quiet=True,
        )
        loader.index_with(Vocabulary.from_instances(loader.iter_instances()))
        batches_of_passage: dict = {}
        for number, batch in enumerate(loader):
            passages = [item["passage"] for item in batch["metadata"]]
            for passage in passages:
                batches_of_passage.setdefault(passage, set()).add(number)
            # What the model reads only once.
            representatives, _ = find_distinct_rows(batch["passage"]["tokens"]["tokens"])
            assert len(representatives) == len(set(passages))
        assert all(len(numbers) == 1 for numbers in batches_of_passage.values())

    def test_questions_on_a_piece_of_a_long_text_stay_together(self) -> None:
        question = TextField([Token("x")])
        metadata = MetadataField({"passage": "x x x x x"})
        pieces = [
            [Token("x", idx=2 * place) for place in range(first, first + 3)] for first in range(3)
        ]
        # Two questions, about every piece each.
        instances = [
            Instance({"passage": TextField(piece), "question": question, "metadata": metadata})
            for piece in pieces * 2
        ]
        sampler = BidafBucketSampler(2, group_passages=True, shuffle=False)
        assert draw(sampler, instances) == [[0, 3], [1, 4], [2, 5]]
