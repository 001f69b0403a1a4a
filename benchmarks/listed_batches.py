from typing import Iterable, List, Optional, Sequence

from allennlp.data import BatchSampler, Instance
from overrides import overrides


class ListedBatches(BatchSampler):
    """
    The batches that it is told, by the ids of their questions, so that both systems get the same.

    # Attributes

    batches : `List[List[str]]`
    """

    def __init__(self) -> None:
        self.batches: List[List[str]] = []

    @overrides
    def get_batch_indices(self, instances: Sequence[Instance]) -> Iterable[List[int]]:
        index_of_id = {
            instance.fields["metadata"]["id"]: index  # type: ignore[index]
            for index, instance in enumerate(instances)
        }
        return [[index_of_id[id_] for id_ in batch] for batch in self.batches]

    @overrides
    def get_num_batches(self, instances: Sequence[Instance]) -> int:
        return len(self.batches)

    @overrides
    def get_batch_size(self) -> Optional[int]:
        return None
