from typing import List

import torch
import torch.multiprocessing
from allennlp.common.testing import run_distributed_test

from bidaf_plugin.training.metrics import MeanOverWorkers


def score_uneven_shares(global_rank: int, world_size: int, gpu_id: int, shares: List[int]) -> None:
    metric = MeanOverWorkers(["right"])
    # Worker 0 has more batches than worker 1: an exchange in every batch would hang here.
    for _ in range(shares[global_rank]):
        metric.add([1.0 - global_rank], 1)
        metric.get_metric()
    assert metric.get_metric(reset=True) == {"right": 100 * shares[0] / sum(shares)}
    assert metric.get_metric() == {}


class TestMeanOverWorkers:
    def test_sums_are_exchanged_once_when_the_metric_is_reset(self) -> None:
        torch.set_num_threads(1)
        run_distributed_test([-1, -1], score_uneven_shares, shares=[3, 1])
