from allennlp.data import Instance
from allennlp.data.fields import MetadataField

from benchmarks.listed_batches import ListedBatches


class TestListedBatches:
    def test_gives_the_batches_that_it_is_told(self) -> None:
        instances = [Instance({"metadata": MetadataField({"id": id_})}) for id_ in "abcd"]
        sampler = ListedBatches()
        sampler.batches = [["d", "a"], ["b"]]
        assert list(sampler.get_batch_indices(instances)) == [[3, 0], [1]]
        assert sampler.get_num_batches(instances) == 2
