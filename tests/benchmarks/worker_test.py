from pathlib import Path

import pytest

from benchmarks.data import list_questions, load_squad
from benchmarks.systems import OURS, Settings
from benchmarks.worker import Worker
from benchmarks.workspace import quick_sources


class TestWorker:
    def test_makes_the_tensors_of_all_that_was_read_in_its_order(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        _, dev, _ = quick_sources()
        worker = Worker(OURS.name, Settings(str(tmp_path), str(dev), str(dev), "", True, 1))
        read = worker.read(str(dev))
        worker.make_vocabulary(str(tmp_path / "vocabulary"))
        worker.index(str(tmp_path / "vocabulary"))
        assert worker._loader is not None
        made = []
        collate = worker._loader.collate_fn

        def keep_ids(instances):  # type: ignore[no-untyped-def]
            tensors = collate(instances)
            made.append([item["id"] for item in tensors["metadata"]])
            return tensors

        monkeypatch.setattr(worker._loader, "collate_fn", keep_ids)
        tensors = worker.make_tensors(batch_size=60)
        ids = [question.id for question in list_questions(load_squad(dev))]
        assert made == [ids[start : start + 60] for start in range(0, len(ids), 60)]
        assert tensors["batches"] == len(made) and tensors["tensors_seconds"] > 0
        assert read["instances"] == len(ids)
