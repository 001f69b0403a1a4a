import json
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Dict, List

import pytest
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import sanitize
from allennlp.data import Vocabulary
from allennlp.data.batch import Batch
from allennlp.data.dataset_readers.dataset_reader import WorkerInfo
from allennlp.data.tokenizers import WhitespaceTokenizer

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.tokenizers import PtbTokenizer
from tests.helpers import SAMPLE_V2, TINY_SQUAD


def read(reader: BidafSquadReader, path: Path = TINY_SQUAD) -> List[Dict[str, Any]]:
    """All that the instances hold, as plain Python."""
    return [
        {
            **sanitize(instance["metadata"].metadata),
            "offsets": [(t.idx, t.idx_end) for t in instance["passage"].tokens],
            "spans": instance["answer_spans"].array.tolist(),
        }
        for instance in reader.read(path)
    ]


def cached(folder: Path, **settings: Any) -> BidafSquadReader:
    return BidafSquadReader(cache_dir=str(folder), **settings)


def read_cached(folder: str) -> List[Dict[str, Any]]:
    return read(cached(Path(folder)))


def forbid_tokenizing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise AssertionError("tokenised again")

    monkeypatch.setattr(PtbTokenizer, "batch_tokenize", fail)


class TestTokenCache:
    def test_gives_the_same_instances_without_tokenizing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        expected = read(BidafSquadReader())
        assert read(cached(tmp_path)) == expected
        forbid_tokenizing(monkeypatch)
        assert read(cached(tmp_path)) == expected
        # Limits do not change the tokens.
        assert len(read(cached(tmp_path, max_passage_length=14))) == 1

        instances = list(cached(tmp_path).read(TINY_SQUAD))
        batch = Batch(instances)
        batch.index_instances(Vocabulary.from_instances(instances))
        assert batch.as_tensor_dict()["passage"]["tokens"]["tokens"].min() >= 0

    def test_keeps_which_questions_are_impossible(self, tmp_path: Path) -> None:
        expected = read(BidafSquadReader(), SAMPLE_V2)
        assert [[-2, -2]] in [item["spans"] for item in expected]
        assert read(cached(tmp_path), SAMPLE_V2) == expected
        assert read(cached(tmp_path), SAMPLE_V2) == expected

    def test_other_settings_or_another_file_are_read_anew(self, tmp_path: Path) -> None:
        read(cached(tmp_path))
        read(cached(tmp_path, question_tokenizer=PtbTokenizer(split_compounds=False)))
        whole = PtbTokenizer(split_compounds=False, whole_compounds=True)
        read(cached(tmp_path, question_tokenizer=whole))
        assert len(list(tmp_path.iterdir())) == 3
        changed = tmp_path / "changed.json"
        changed.write_text(TINY_SQUAD.read_text(encoding="utf-8").replace("planted", "clipped"))
        assert read(cached(tmp_path), changed) == read(BidafSquadReader(), changed)

    @pytest.mark.parametrize("damage", ["truncated", "flipped", "nonsense", "empty"])
    def test_a_damaged_file_is_made_anew(self, tmp_path: Path, damage: str) -> None:
        expected = read(cached(tmp_path))
        (path,) = tmp_path.iterdir()
        content = path.read_bytes()
        flipped = bytearray(content)
        flipped[content.index(b"orchard")] ^= 1
        damaged = {
            "truncated": content[: len(content) // 2],
            "flipped": bytes(flipped),
            "nonsense": b"nonsense",
            "empty": b"",
        }
        path.write_bytes(damaged[damage])
        assert read(cached(tmp_path)) == expected
        assert path.read_bytes() == content

    def test_workers_share_the_paragraphs_out(self, tmp_path: Path) -> None:
        for _ in range(2):
            ids = []
            for worker in range(2):
                reader = cached(tmp_path)
                reader._set_worker_info(WorkerInfo(2, worker))
                ids.append([item["id"] for item in read(reader)])
            assert ids == [["tiny-1", "tiny-2", "tiny-3", "tiny-5"], ["tiny-4"]]

    def test_processes_can_share_a_folder(self, tmp_path: Path) -> None:
        folder = tmp_path / "new" / "folder"
        with ProcessPoolExecutor(3) as pool:
            results = list(pool.map(read_cached, [str(folder)] * 6))
        assert results == [read(BidafSquadReader())] * 6
        assert len(list(folder.iterdir())) == 1

    def test_a_folder_that_cannot_be_written_is_no_error(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert read(cached(tmp_path / "file" / "folder")) == read(BidafSquadReader())

    def test_bad_data_is_still_named_and_not_kept(self, tmp_path: Path) -> None:
        squad = json.loads(TINY_SQUAD.read_text(encoding="utf-8"))
        squad["data"][1]["paragraphs"][0].pop("context")
        bad = tmp_path / "bad.json"
        bad.write_text(json.dumps(squad))
        reader = cached(tmp_path / "cache")
        for path, message in [(bad, "article 1.*'context'"), (tmp_path / "no", "no such file")]:
            with pytest.raises(DataError, match=message):
                read(reader, path)
        assert not (tmp_path / "cache").exists()

    def test_needs_the_ptb_tokenizer(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigurationError, match="'ptb'.*WhitespaceTokenizer"):
            cached(tmp_path, question_tokenizer=WhitespaceTokenizer())
