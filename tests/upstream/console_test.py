import io
import json
import logging
import time
from pathlib import Path
from typing import Iterator, List

import pytest
from allennlp.commands import evaluate
from allennlp.commands.train import train_model
from allennlp.common import Params, file_utils
from allennlp.common.util import dump_metrics

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream.console import quiet_console
from tests.helpers import TINY_SQUAD, tiny_params


@pytest.fixture
def root() -> Iterator[logging.Logger]:
    """The logger of all, whose handlers and level a test may change."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield root
    root.handlers[:] = handlers
    root.setLevel(level)


def shown(root: logging.Logger) -> List[str]:
    """What is left on the console of an information, a warning and the metrics."""
    console = io.StringIO()
    root.handlers[:] = [logging.StreamHandler(console)]
    root.setLevel(logging.INFO)
    quiet_console()
    logging.getLogger("allennlp.nn").info("a weight")
    logging.getLogger("allennlp.nn").warning("a fault")
    dump_metrics(None, {}, log=True)
    return console.getvalue().splitlines()


class TestQuietConsole:
    def test_warnings_and_metrics_are_left(
        self, root: logging.Logger, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
        monkeypatch.setattr("sys.argv", ["allennlp", "train"])
        assert shown(root) == ["a fault", "Metrics: {}"]
        # Actions of this plugin have summaries of their own.
        monkeypatch.setattr("sys.argv", ["allennlp", "bidaf", "quickstart"])
        assert shown(root) == ["a fault"]

    @pytest.mark.parametrize("variable", ["ALLENNLP_LOG_LEVEL", "ALLENNLP_DEBUG"])
    def test_all_of_it_is_there_if_it_is_asked_for(
        self, root: logging.Logger, monkeypatch: pytest.MonkeyPatch, variable: str
    ) -> None:
        monkeypatch.setenv(variable, "INFO")
        assert shown(root) == ["a weight", "a fault", "Metrics: {}"]

    def test_the_log_of_a_run_has_all_of_it(
        self,
        root: logging.Logger,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture,
    ) -> None:
        monkeypatch.delenv("ALLENNLP_LOG_LEVEL", raising=False)
        monkeypatch.setattr("sys.argv", ["allennlp", "train"])
        # AllenNLP's own test case, which other tests are made of, silences it for the whole process.
        monkeypatch.setattr(logging.getLogger("allennlp.common.params"), "disabled", False)
        train_model(Params(tiny_params()), str(tmp_path / "run"))
        output, progress = capsys.readouterr()
        assert "it/s" in progress and "allennlp.common.params" not in output + progress
        assert json.loads(output[output.index("{") :])["best_epoch"] == 0
        assert "allennlp.common.params" in (tmp_path / "run" / "out.log").read_text()


def test_evaluate_ends_with_the_metrics(
    tiny_archive: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        metrics = evaluate.evaluate_from_archive(str(tiny_archive), str(TINY_SQUAD))
    last = caplog.messages[-1]
    assert last.startswith("Metrics: ") and json.loads(last[last.index("{") :]) == metrics


def test_a_download_that_fails_says_soon_what_to_do(tmp_path: Path) -> None:
    start = time.monotonic()
    url = "http://127.0.0.1:9/train-v1.1.json"
    with pytest.raises(DataError, match=f"cannot download {url} .*train_data, dev_data or glove"):
        file_utils.cached_path(url, cache_dir=tmp_path)
    assert time.monotonic() - start < 20
    with pytest.raises(FileNotFoundError):
        file_utils.cached_path(tmp_path / "no.json")
