from pathlib import Path
from types import SimpleNamespace
from typing import Any, Callable, Dict, List

import pytest

from bidaf_plugin.cluster import training
from bidaf_plugin.cluster.connection import ClusterOptions
from bidaf_plugin.common.errors import DataError
from tests.cluster.fake_ray import ActorDiedError, FakeRay, fake_connection

Trained = List[str]


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Trained]:
    """Trains runs on a cluster that is none, and returns their names as they end."""

    def run(folder: Path, names: List[str], on_train: Callable[[str], object]) -> Trained:
        def train_or_resume(params: Dict[str, Any], run_folder: str) -> None:
            assert Path(run_folder).parent == folder
            on_train(params["name"])

        monkeypatch.setattr(training, "train_or_resume", train_or_resume)
        ray = FakeRay()
        monkeypatch.setattr(training, "connected", lambda options: fake_connection(ray))
        runs = {name: {"name": name} for name in names}
        return list(training.train_on_cluster(runs, str(folder), ClusterOptions()))

    return run


class TestTrainOnCluster:
    def test_trains_all(self, train: Callable[..., Trained], tmp_path: Path) -> None:
        trained: Trained = []
        names = ["a", "b", "c"]
        assert train(tmp_path / "runs", names, trained.append) == names
        assert trained == names
        assert not list(tmp_path.glob("*.lock"))

    def test_what_dies_goes_on_and_what_cannot_be_trained_does_not_stop_others(
        self, train: Callable[..., Trained], tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        calls: Trained = []

        def fail(name: str) -> None:
            calls.append(name)
            if name == "full" and calls.count(name) < 3:
                raise OSError(28, "No space left on device", "/tmp/x")
            if name == "wrong":
                raise DataError("wrong was begun with other settings")
            if name == "broken":
                raise ValueError("nan loss encountered")

        message = (
            r"2 of 4 runs have not ended \(wrong: wrong was begun with other settings; broken: "
            r"ValueError: nan loss encountered \(on .*\); the same command goes on"
        )
        with pytest.raises(DataError, match=message):
            train(tmp_path, ["full", "wrong", "broken", "good"], fail)
        assert [calls.count(name) for name in ("full", "wrong", "broken", "good")] == [3, 1, 3, 1]
        error = capsys.readouterr().err
        assert "full: /tmp/x: No space left on device (on" in error
        assert "it goes on from its last checkpoint" in error


class TestReportingCallback:
    def test_reports_now_and_then(self, tmp_path: Path) -> None:
        reports: List[training.Progress] = []
        callback = training.ReportingCallback(str(tmp_path), reports.append)
        trainer = SimpleNamespace(data_loader=range(10), _num_epochs=3)
        for batch_number in (1, 2):
            arguments = [trainer, [], [], {"loss": 2.5}, 1, batch_number]
            callback.on_batch(*arguments, is_training=True)
        assert reports == [training.Progress(11, 30, 2.5)]


def test_a_worker_that_died_is_no_fault_of_the_user() -> None:
    ray = FakeRay()

    def die() -> None:
        raise ActorDiedError

    outcome = training.result_of(ray, ray.deferred(die)())
    assert outcome.fault == "its worker died"
    assert outcome.can_be_tried_again
