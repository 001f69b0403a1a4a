from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.archives.ensemble import write_ensemble_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.server.errors import RequestError
from bidaf_plugin.server.models import load_models, names_of


class TestLoadModels:
    def test_names_are_short_and_differ(self) -> None:
        archives = ["runs/squad/model.tar.gz", "runs/squad", "a/best.tar.gz", "b/best.tar.gz"]
        assert names_of(archives) == ["squad", "squad-2", "best", "best-2"]
        assert names_of(["runs/squad/"]) == ["squad"]
        assert names_of(["https://example.org/mill.tar.gz"]) == ["mill"]

    def test_the_packaged_model_is_the_default(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tiny_archive: Path
    ) -> None:
        packaged = tmp_path / "bidaf-squad.tar.gz"
        monkeypatch.setattr("bidaf_plugin.archives.packaged.PACKAGED", packaged)
        with pytest.raises(DataError, match="no archive is given.*make train"):
            load_models([])
        packaged.write_bytes(tiny_archive.read_bytes())
        (model,) = load_models([])
        assert model.name == "bidaf-squad"

    def test_an_ensemble(self, tiny_members: List[str], tmp_path: Path) -> None:
        archive = tmp_path / "both.tar.gz"
        write_ensemble_archive(tiny_members, "spans", str(archive))
        (model,) = load_models([str(archive)])
        description = model.description
        assert not description.takes_passages and not description.has_attention
        assert description.description == "3 models together"
        record = {"question": "Who?", "passage": "Ada planted it in 1855."}
        questions = [model.prepare({**record, "n_best": number}) for number in (None, 1, 3)]
        ((indices, answers),) = model.answer(questions)
        by_index = dict(zip(indices, answers, strict=True))
        assert "n_best" not in by_index[0]
        assert [len(by_index[index]["n_best"]) for index in (1, 2)] == [1, 3]
        with pytest.raises(RequestError, match="one 'passage'"):
            model.prepare({"question": "Who?", "passages": ["Ada."]})
        with pytest.raises(RequestError, match="8,001 tokens"):
            model.prepare({"question": "Who?", "passage": "a " * 8_001})
