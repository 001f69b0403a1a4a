import json
import re
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest

from bidaf_plugin.analysis import answering as one_machine
from bidaf_plugin.analysis.files import read_paragraphs, records_of
from bidaf_plugin.cluster import answering
from bidaf_plugin.common.errors import DataError
from tests.cluster.fake_ray import ActorDiedError, FakeRay, fake_connection
from tests.commands.helpers import run_action
from tests.helpers import FIXTURES, SAMPLE_V2

SAMPLE = FIXTURES / "squad" / "sample_dev.json"
NUM_SHARDS = 5


@pytest.fixture(autouse=True)
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (one_machine, answering):
        monkeypatch.setattr(module, "QUESTIONS_AT_ONCE", 50)


class Calls:
    """Counts what workers do, and fails the calls whose numbers are given."""

    def __init__(self, name: str = "", failures: Any = None) -> None:
        self.counts: Dict[str, int] = {}
        self._name, self._failures = name, failures or {}

    def __call__(self, name: str, *args: Any) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1
        if name == self._name and self.counts[name] in self._failures:
            raise self._failures[self.counts[name]]


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[..., FakeRay]:
    """`allennlp bidaf answer ... --ray` on a cluster that is none."""

    def run(*arguments: Any, on_call: Any = None) -> FakeRay:
        ray = FakeRay(on_call or Calls())
        monkeypatch.setattr(answering, "connected", lambda options: fake_connection(ray))
        run_action("answer", *arguments, "--ray")
        return ray

    return run


def contents(folder: Path) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def folders(tmp_path: Path, archive: Path, data: Path, *options: Any) -> List[Path]:
    """One with what the plain command writes, and one for the cluster."""
    plain, many = tmp_path / "plain", tmp_path / "many"
    for folder in (plain, many):
        folder.mkdir()
    run_action("answer", archive, data, "-o", plain / "p.json", *options)
    return [plain, many]


Answer = Callable[..., FakeRay]


class TestAnswerFiles:
    @pytest.mark.parametrize("name", ["p.json", "p.json.gz"])
    def test_writes_what_one_machine_writes(
        self, answer: Answer, v2_archive: Path, tmp_path: Path, name: str
    ) -> None:
        for folder in ("plain", "many"):
            (tmp_path / folder).mkdir()
        options = ["--n-best", 2, "--max-answer-length", 3]
        run_action("answer", v2_archive, SAMPLE_V2, "-o", tmp_path / "plain" / name, *options)
        answer(v2_archive, SAMPLE_V2, "-o", tmp_path / "many" / name, *options)
        found = contents(tmp_path / "many")
        assert len(found) == 3
        assert found == contents(tmp_path / "plain")

    def test_a_folder_of_json_lines_gives_the_same(
        self, answer: Answer, tiny_archive: Path, tmp_path: Path
    ) -> None:
        plain, many = folders(tmp_path, tiny_archive, SAMPLE)
        records = records_of(read_paragraphs(SAMPLE))
        data = tmp_path / "data"
        data.mkdir()
        for number, part in enumerate((records[:70], records[70:])):
            lines = "\n".join(map(json.dumps, part))
            (data / f"{number}.jsonl").write_text(lines)
        answer(tiny_archive, data, "-o", many / "p.json")
        assert contents(many) == contents(plain)

    def test_what_is_lost_with_a_worker_is_answered_by_another(
        self,
        answer: Answer,
        tiny_archive: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        plain, many = folders(tmp_path, tiny_archive, SAMPLE)
        for name, failure in (("answer", ActorDiedError()), ("load", ActorDiedError())):
            calls = Calls(name, {2: failure})
            answer(tiny_archive, SAMPLE, "-o", many / "p.json", on_call=calls)
            assert calls.counts["load"] == 3
            assert calls.counts["answer"] == NUM_SHARDS + (name == "answer")
            assert contents(many) == contents(plain)
        assert "its worker died; another worker tries again" in capsys.readouterr().err

    def test_a_shard_that_kills_all_workers_is_named_and_the_rest_is_done(
        self, answer: Answer, tiny_archive: Path, tmp_path: Path
    ) -> None:
        plain, many = folders(tmp_path, tiny_archive, SAMPLE)

        def die_of_poison(name: str, *args: Any) -> None:
            if name == "answer" and args[0][0] == records_of(read_paragraphs(SAMPLE))[50]:
                raise ActorDiedError

        with pytest.raises(DataError, match="1 of the records or shards .* shard 2, questions"):
            answer(tiny_archive, SAMPLE, "-o", many / "p.json", on_call=die_of_poison)
        predictions = json.loads((many / "p.json").read_bytes())
        expected = json.loads((plain / "p.json").read_bytes())
        assert list(predictions) == [*list(expected)[:50], *list(expected)[100:]]
        assert "shard 2" in (many / "p.json.errors.txt").read_text()
        # Only this one is tried again.
        calls = Calls()
        answer(tiny_archive, SAMPLE, "-o", many / "p.json", on_call=calls)
        assert calls.counts["answer"] == 1
        assert contents(many) == contents(plain)

    def test_what_was_interrupted_goes_on(
        self, answer: Answer, tiny_archive: Path, tmp_path: Path
    ) -> None:
        plain, many = folders(tmp_path, tiny_archive, SAMPLE)
        calls = Calls("answer", {4: KeyboardInterrupt()})
        with pytest.raises(KeyboardInterrupt):
            answer(tiny_archive, SAMPLE, "-o", many / "p.json", on_call=calls)
        assert list(contents_of_files(many)) == []
        with pytest.raises(DataError, match="was begun with another model, other data or other"):
            answer(tiny_archive, SAMPLE, "-o", many / "p.json", "--n-best", 2)
        calls = Calls()
        answer(tiny_archive, SAMPLE, "-o", many / "p.json", on_call=calls)
        assert calls.counts["answer"] == NUM_SHARDS - 3
        assert contents(many) == contents(plain)

    def test_a_bad_record_is_named_and_the_others_are_answered(
        self, answer: Answer, tiny_archive: Path, tmp_path: Path
    ) -> None:
        data, out = tmp_path / "data.jsonl", tmp_path / "p.json"
        record = {"id": "1", "question": "Who?", "passage": "Ada Orn was it."}
        data.write_text(f'{json.dumps(record)}\nnonsense\n{json.dumps({**record, "id": "2"})}\n')
        with pytest.raises(DataError, match=re.escape(f"{data}, line 2: not JSON")):
            answer(tiny_archive, data, "-o", out)
        assert list(json.loads(out.read_bytes())) == ["1", "2"]
        assert "line 2" in (tmp_path / "p.json.errors.txt").read_text()
        data.write_text(json.dumps(record))
        answer(tiny_archive, data, "-o", out)
        assert sorted(contents(tmp_path)) == ["data.jsonl", "p.json"]

    def test_workers_that_cannot_start_are_said(
        self,
        answer: Answer,
        tiny_archive: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        plain, many = folders(tmp_path, tiny_archive, SAMPLE)
        failures: Dict[int, BaseException] = {number: ActorDiedError() for number in (1, 3, 4)}
        answer(tiny_archive, SAMPLE, "-o", many / "p.json", on_call=Calls("load", failures))
        assert contents(many) == contents(plain)
        always: Dict[int, BaseException] = {number: ActorDiedError() for number in range(99)}
        with pytest.raises(DataError, match="its worker died"):
            answer(tiny_archive, SAMPLE, "-o", many / "q.json", on_call=Calls("load", always))
        damaged = tmp_path / "damaged.tar.gz"
        damaged.write_bytes(tiny_archive.read_bytes()[:1000])
        with pytest.raises(DataError, match="damaged.tar.gz: the archive is truncated"):
            answer(damaged, SAMPLE, "-o", many / "q.json")
        assert not (many / "q.json").exists()

    def test_what_is_not_there_is_said_before_there_is_a_cluster(
        self, answer: Answer, tiny_archive: Path, tmp_path: Path
    ) -> None:
        cases = [
            (tmp_path / "no.tar.gz", SAMPLE, "no.tar.gz: there is no such file"),
            (tiny_archive, tmp_path / "no.json", "no.json: there is no such file or folder"),
            (tiny_archive, tmp_path, "there are no files in it"),
        ]
        for archive, data, message in cases:
            with pytest.raises(DataError, match=message):
                answer(archive, data, "-o", tmp_path / "p.json")
        (tmp_path / "empty.json").write_text('{"data": []}')
        with pytest.raises(DataError, match="there are no questions"):
            answer(tiny_archive, tmp_path / "empty.json", "-o", tmp_path / "p.json")
        assert [path.name for path in tmp_path.iterdir()] == ["empty.json"]


def contents_of_files(folder: Path) -> Dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
