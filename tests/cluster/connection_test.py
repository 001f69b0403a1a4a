import socket
import sys
from pathlib import Path
from typing import Any, Dict, List

import pytest

from bidaf_plugin.cluster.connection import ClusterOptions, WorkerSetup, _room, connected
from bidaf_plugin.common.errors import DataError, one_sentence
from tests.commands.helpers import run_action
from tests.helpers import TINY_SQUAD


class FakeNodes:
    def __init__(self, *resources: Dict[str, float]) -> None:
        self._resources = resources

    def nodes(self) -> List[Dict[str, Any]]:
        alive = [{"Alive": True, "Resources": resources} for resources in self._resources]
        return [*alive, {"Alive": False, "Resources": {"CPU": 99.0}}]


class TestConnected:
    def test_an_address_where_nobody_answers_is_said_soon(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{unused.getsockname()[1]}"
            with (
                pytest.raises(DataError, match=f"--ray {address}: nobody answers there"),
                connected(ClusterOptions(address)),
            ):
                pass

    @pytest.mark.parametrize("address", ["here", "host:port", "ray://host:1", "host:99999"])
    def test_an_address_that_is_none_is_said(self, address: str) -> None:
        with (
            pytest.raises(DataError, match="the address of a cluster is HOST:PORT"),
            connected(ClusterOptions(address)),
        ):
            pass

    def test_without_ray_one_sentence_says_what_to_install(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "ray", None)
        with pytest.raises(ModuleNotFoundError) as caught, connected(ClusterOptions()):
            pass
        assert one_sentence(caught.value) == (
            "ray is not installed: pip install 'bidaf_plugin[cluster]'"
        )


class TestRoom:
    def test_is_what_fits_on_the_machines(self) -> None:
        ray = FakeNodes({"CPU": 5.0}, {"CPU": 8.0, "GPU": 2.0}, {})
        assert _room(ray, ClusterOptions()) == 13
        assert _room(ray, ClusterOptions(cpus=2)) == 2 + 4
        assert _room(ray, ClusterOptions(cpus=2, gpus=1)) == 2
        assert _room(ray, ClusterOptions(workers=3)) == 3

    def test_what_does_not_fit_is_said(self) -> None:
        ray = FakeNodes({"CPU": 2.0})
        with pytest.raises(DataError, match="no machine of the cluster has 3 CPUs and 0 GPUs"):
            _room(ray, ClusterOptions(cpus=3))
        with pytest.raises(DataError, match="room for 2 workers with 1 CPUs .* not for 3"):
            _room(ray, ClusterOptions(workers=3))


class TestWorkerSetup:
    def test_a_folder_that_a_machine_cannot_reach_is_said(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="a machine of the cluster cannot reach this folder"):
            WorkerSetup(str(tmp_path / "gone"), 1, 0, []).apply()


class TestOptions:
    @pytest.mark.parametrize(
        "options, message",
        [
            (["--workers", 2], "--workers is for --ray"),
            (["--gpus-per-worker", 0], "--gpus-per-worker is for --ray"),
            (["--workers", 0, "--ray"], "--workers must be 1 or more, not 0"),
            (["--cuda-device", 0, "--ray"], "--gpus-per-worker in place of --cuda-device"),
        ],
    )
    def test_that_do_not_go_together_are_said(
        self, tmp_path: Path, options: List[Any], message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            run_action("answer", "a.tar.gz", TINY_SQUAD, "-o", tmp_path / "p.json", *options)
