"""
Training on two hosts: two network namespaces of this machine, or two of its addresses where there may be none.
"""

import json
import os
import re
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple

import pytest
import torch

from tests.command_line_test import ALLENNLP, ENVIRONMENT, wait_for
from tests.helpers import FIXTURES, ROOT, tiny_params

at_length = pytest.mark.skipif(
    not os.environ.get("BIDAF_CLUSTER_TESTS"), reason="takes minutes: make test-cluster"
)
SAMPLE = FIXTURES / "squad" / "sample_dev.json"
PORT = 29_517
# Torch passes over a name of one letter.
_DEVICES = ("end0", "end1")


class Host(NamedTuple):
    """A host by its rank, its address, the network device with it, and what runs a command there."""

    rank: int
    address: str
    device: str
    prefix: List[str]


def ip(*arguments: str) -> bool:
    """Whether a change of the network could be made."""
    try:
        return subprocess.run(["ip", *arguments], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def hosts() -> Iterator[List[Host]]:
    names = [f"bidaf{os.getpid()}{side}" for side in "ab"]
    with ExitStack() as stack:
        for name in names:
            stack.callback(ip, "netns", "del", name)
        if not all(ip("netns", "add", name) for name in names):
            yield [Host(rank, f"127.0.0.{rank + 1}", "lo", []) for rank in (0, 1)]
            return
        # The two ends of a cable.
        ends = [["name", end, "netns", name] for end, name in zip(_DEVICES, names, strict=True)]
        assert ip("link", "add", *ends[0], "type", "veth", "peer", *ends[1])
        found = []
        for rank, (name, device) in enumerate(zip(names, _DEVICES, strict=True)):
            address = f"10.77.0.{rank + 1}"
            assert ip("-n", name, "addr", "add", f"{address}/24", "dev", device)
            assert all(ip("-n", name, "link", "set", "dev", each, "up") for each in ("lo", device))
            found.append(Host(rank, address, device, ["ip", "netns", "exec", name]))
        yield found


def write_config(tmp_path: Path, **distributed: Any) -> Path:
    choices = f"train_data:: '{SAMPLE}', dev_data:: '{SAMPLE}', num_epochs:: 3, batch_size:: 20"
    params = tiny_params(choices)
    params["trainer"]["checkpointer"] = {
        "save_every_num_batches": 2,
        "keep_most_recent_by_count": 9,
    }
    params["distributed"] = distributed
    path = tmp_path / f"{distributed.get('num_nodes', 1)}.json"
    path.write_text(json.dumps(params))
    return path


def start(host: Host, config: Path, run: Path, *options: str) -> "subprocess.Popen[bytes]":
    command = [ALLENNLP, "train", str(config), "-s", str(run), "--node-rank", str(host.rank)]
    with Path(f"{run}.log").open("wb") as log:
        return subprocess.Popen(
            [*host.prefix, *command, *options],
            cwd=ROOT,
            env={**ENVIRONMENT, "GLOO_SOCKET_IFNAME": host.device},
            stdout=log,
            stderr=subprocess.STDOUT,
        )


def train(hosts: List[Host], config: Path, folder: Path, *options: str) -> None:
    folder.mkdir(exist_ok=True)
    processes = [start(host, config, folder / str(host.rank), *options) for host in hosts]
    for process in processes:
        assert process.wait(timeout=300) == 0, (folder / "0.log").read_text()[-3000:]


def metrics(run: Path) -> Dict[str, Any]:
    """All that does not depend on time and place."""
    found = json.loads((run / "metrics.json").read_text())
    return {name: value for name, value in found.items() if not re.search("memory|duration", name)}


def two_hosts(tmp_path: Path, hosts: List[Host], timeout: float = 60) -> Path:
    return write_config(
        tmp_path,
        cuda_devices=[-1],
        num_nodes=2,
        primary_address=hosts[0].address,
        primary_port=PORT,
        timeout=timeout,
    )


@at_length
class TestTwoHosts:
    def test_end_where_two_processes_of_one_end(self, hosts: List[Host], tmp_path: Path) -> None:
        train(hosts, two_hosts(tmp_path, hosts), tmp_path / "two")
        one = hosts[0]._replace(prefix=[])
        train(
            [one._replace(device="lo")],
            write_config(tmp_path, cuda_devices=[-1, -1]),
            tmp_path / "one",
        )
        expected = metrics(tmp_path / "one" / "0")
        assert expected["best_validation_f1"] > 0
        for rank in "01":
            assert metrics(tmp_path / "two" / rank) == expected
        weights = [
            torch.load(run / "best.th")
            for run in (tmp_path / "one" / "0", tmp_path / "two" / "0", tmp_path / "two" / "1")
        ]
        for other in weights[1:]:
            assert all(torch.equal(weights[0][name], other[name]) for name in weights[0])

    @pytest.mark.parametrize("how", ["killed", "unplugged"])
    def test_one_that_dies_ends_the_other_and_recover_goes_on(
        self, hosts: List[Host], tmp_path: Path, how: str
    ) -> None:
        if how == "unplugged" and not hosts[0].prefix:
            pytest.skip("needs network namespaces")
        config = two_hosts(tmp_path, hosts, timeout=60)
        train(hosts, config, tmp_path / "whole")
        folder = tmp_path / how
        folder.mkdir()
        processes = [start(host, config, folder / str(host.rank)) for host in hosts]
        wait_for(folder, "1/model_state_e1_b2.th", processes[1])
        if how == "killed":
            # The command, and its process of training with it.
            subprocess.run(["pkill", "-9", "-P", str(processes[1].pid)])
            processes[1].kill()
        else:
            ip("-n", hosts[1].prefix[-1], "link", "set", "dev", hosts[1].device, "down")
        for process in processes[: 1 if how == "killed" else 2]:
            assert process.wait(timeout=200) == 1
        processes[1].wait()
        output = (folder / "0.log").read_text()
        assert "Traceback" not in output
        (sentence,) = (line for line in output.splitlines() if line.startswith("Error: "))
        assert "a process of distributed training has died" in sentence
        assert "--recover goes on from the last checkpoint" in sentence
        # The host that died has not written everything that the other one has.
        for path in (folder / "1").glob("*_state_e1_b[4-9].th"):
            path.unlink()
        if how == "unplugged":
            ip("-n", hosts[1].prefix[-1], "link", "set", "dev", hosts[1].device, "up")
        train(hosts, config, folder, "--recover")
        assert metrics(folder / "0") == metrics(tmp_path / "whole" / "0")
