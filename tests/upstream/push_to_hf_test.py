import sys
from pathlib import Path
from typing import Any, Dict, List

import huggingface_hub
import pytest
from allennlp.commands import main

from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream.push_to_hf import push_to_hf

RECORD = {"question": "Who planted it?", "passage": "It was planted by Ada in 1855."}


class FakeHub:
    """What is asked of the Hub's library."""

    calls: List[Dict[str, Any]]

    def __init__(self, token: Any = None) -> None:
        pass

    def whoami(self) -> Dict[str, str]:
        return {"name": "ada"}

    def create_repo(self, repo_id: str, exist_ok: bool) -> str:
        return f"https://hub/{repo_id}"

    def upload_folder(self, **arguments: Any) -> None:
        self.calls.append(arguments)


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch) -> type:
    FakeHub.calls = []
    monkeypatch.setattr(huggingface_hub, "HfApi", FakeHub)
    return FakeHub


class TestPushToHf:
    @pytest.mark.parametrize("source", ["archive", "run"])
    def test_the_folder_loads_again(
        self, source: str, tiny_archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        option, path = ("-a", tiny_archive) if source == "archive" else ("-s", tiny_archive.parent)
        monkeypatch.chdir(tmp_path)
        arguments = ["push-to-hf", "-n", "mill", option, str(path), "-c", "First"]
        monkeypatch.setattr(sys, "argv", ["allennlp", *arguments])
        main("allennlp")
        folder = tmp_path / "hub" / "mill"
        (call,) = FakeHub.calls
        assert call == {
            "repo_id": "ada/mill",
            "folder_path": Path("hub", "mill"),
            "commit_message": "First",
        }
        expected = load_span_predictor(tiny_archive).predict_json(RECORD)
        assert load_span_predictor(folder).predict_json(RECORD) == expected
        assert 'load_span_predictor("hf://ada/mill")' in (folder / "README.md").read_text()
        # No checkpoints.
        assert [path.name for path in folder.glob("**/*.th")] == ["weights.th"]

    def test_a_card_stays_and_an_organization_counts(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "mill").mkdir()
        (tmp_path / "mill" / "README.md").write_text("Mine.")
        address = push_to_hf(
            "mill", archive_path=tiny_archive, organization="mills", local_repo_path=tmp_path
        )
        assert address == "https://hub/mills/mill"
        assert (tmp_path / "mill" / "README.md").read_text() == "Mine."

    def test_what_is_no_model_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="there is no such file"):
            push_to_hf("mill", archive_path=tmp_path / "none", local_repo_path=tmp_path / "hub")
        with pytest.raises(DataError, match="either the folder"):
            push_to_hf("mill", local_repo_path=tmp_path)
