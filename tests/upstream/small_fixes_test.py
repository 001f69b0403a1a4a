"""
The repairs of bidaf_plugin/upstream/ which are not tested with their own module.
"""

import json
import multiprocessing
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from allennlp.commands.train import train_model, train_model_from_file
from allennlp.common import Params
from allennlp.common import util as allennlp_util
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.upstream.small_fixes import let_workers_end, silence_known_warnings


class TestAllowNumpyNumbers:
    @pytest.mark.parametrize("number", [numpy.float64(0.5), numpy.float32(0.5), numpy.int64(3)])
    def test_a_training_state_may_hold_numpy_numbers(self, number: Any, tmp_path: Path) -> None:
        path = tmp_path / "state.th"
        torch.save({"best": number}, path)
        assert torch.load(path)["best"] == number
        # And it is the fix that allows it.
        allowed = torch.serialization.get_safe_globals()
        torch.serialization.clear_safe_globals()
        try:
            with pytest.raises(Exception, match="weights_only|Unsupported|Weights only"):
                torch.load(path)
        finally:
            torch.serialization.add_safe_globals(allowed)

    def test_code_is_still_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "state.th"
        torch.save({"evil": print}, path)
        with pytest.raises(Exception, match="[Ww]eights"):
            torch.load(path)


class TestSilenceKnownWarnings:
    def test_only_the_known_warnings_are_silenced(self) -> None:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            silence_known_warnings()
            torch.cuda.amp.autocast(False)
            warnings.warn("something else", FutureWarning, stacklevel=1)
        assert [str(warning.message) for warning in caught] == ["something else"]


class TestSuggestNames:
    def test_a_misspelt_name_is_explained_without_nltk(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for module in ("nltk", "nltk.metrics", "nltk.metrics.distance"):
            monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ConfigurationError, match="did you mean 'attention_flow'"):
            Model.by_name("atention_flow")


class TestCheckBeforeTraining:
    @pytest.mark.parametrize("config", [[], "x", None, 1])
    def test_a_config_is_an_object(self, config: Any, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config))
        with pytest.raises(DataError, match="the config must be a JSON object, found"):
            train_model_from_file(path, tmp_path / "run")
        assert not (tmp_path / "run").exists()

    def test_numbers_fit_into_a_machine(self, tmp_path: Path) -> None:
        config = {"data_loader": {"max_instances_in_memory": 10**30}}
        with pytest.raises(
            DataError, match="in the config: data_loader.max_instances_in_memory: 1"
        ):
            train_model(Params(config), str(tmp_path / "run"))
        assert not (tmp_path / "run").exists()

    @pytest.mark.parametrize(
        "content, message",
        [
            ('{"model": {}}', "was begun with another config, which has no 'model.type'"),
            ("[]", "config.json: the config must be a JSON object"),
            ("\xff", "config.json: not plain JSON"),
        ],
    )
    def test_another_config_in_the_folder(self, content: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "config.json").write_bytes(content.encode("latin-1"))
        with pytest.raises(DataError, match=message):
            train_model(Params({"model": {"type": "x"}}), str(tmp_path), recover=True)


class TestLetWorkersEnd:
    def test_forked_processes_end_without_a_traceback(self) -> None:
        previous = signal.getsignal(signal.SIGTERM)
        # As the command does before it knows of plugins.
        allennlp_util.install_sigterm_handler()
        try:
            let_workers_end()
            context = multiprocessing.get_context("fork")
            is_there = context.Event()

            def wait_for_the_end() -> None:
                is_there.set()
                time.sleep(60)

            process = context.Process(target=wait_for_the_end)
            process.start()
            assert is_there.wait(30)
            process.terminate()
            process.join(30)
            # Killed by the signal, and not by an exception.
            assert process.exitcode == -signal.SIGTERM
            with pytest.raises(allennlp_util.SigTermReceived):
                signal.raise_signal(signal.SIGTERM)
        finally:
            signal.signal(signal.SIGTERM, previous)
