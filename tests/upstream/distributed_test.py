from datetime import timedelta
from typing import Any, Dict, List

import pytest
import torch.distributed
from allennlp.commands import train
from allennlp.common import Params

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream import distributed


class TestTrainWorker:
    @pytest.mark.parametrize("given, seconds", [({}, 600), ({"timeout": 2.5}, 2.5)])
    def test_waits_for_other_processes_for_so_long(
        self, monkeypatch: pytest.MonkeyPatch, given: Dict[str, Any], seconds: float
    ) -> None:
        waited: List[timedelta] = []

        def allennlp_train_worker(rank: int, params: Params, distributed_params: Params) -> None:
            torch.distributed.init_process_group(backend="gloo")  # type: ignore[call-arg]
            assert not distributed_params.params

        def init_process_group(backend: str, timeout: timedelta) -> None:
            waited.append(timeout)

        monkeypatch.setattr(distributed, "_allennlp_train_worker", allennlp_train_worker)
        monkeypatch.setattr(distributed, "_init_process_group", init_process_group)
        monkeypatch.setattr(torch.distributed, "init_process_group", None)
        # As processes are spawned: by this name, and with positions.
        assert train._train_worker is distributed.train_worker
        train._train_worker(0, Params({}), Params(dict(given)))
        assert waited == [timedelta(seconds=seconds)]

    @pytest.mark.parametrize("timeout", [0, True, "long"])
    def test_a_wrong_time_is_said(self, timeout: Any) -> None:
        with pytest.raises(DataError, match="distributed.timeout must be seconds, more than 0"):
            distributed.train_worker(
                0, Params({}), "", distributed_params=Params({"timeout": timeout})
            )
