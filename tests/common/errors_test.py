import errno
import gzip
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived, prepare_environment
from allennlp.data import Vocabulary
from allennlp.data.data_loaders import MultiProcessDataLoader
from allennlp.data.data_loaders.multiprocess_data_loader import WorkerError
from allennlp.models import Model, load_archive
from torch.multiprocessing.spawn import ProcessExitedException, ProcessRaisedException

from bidaf_plugin.common.errors import DataError, install_error_messages
from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.data.samplers import WindowBudgetSampler
from tests.helpers import ROOT, tiny_params


class TestErrorMessages:
    def setup_method(self) -> None:
        self.previous_hook = sys.excepthook
        sys.excepthook = sys.__excepthook__
        install_error_messages()

    def teardown_method(self) -> None:
        sys.excepthook = self.previous_hook

    def show(self, error: BaseException, capsys: pytest.CaptureFixture) -> str:
        try:
            raise error
        except type(error):
            sys.excepthook(*sys.exc_info())
        return capsys.readouterr().err

    def test_what_the_user_can_mend_is_one_sentence(self, capsys: pytest.CaptureFixture) -> None:
        assert self.show(DataError("x.json: not JSON"), capsys) == "Error: x.json: not JSON\n"
        assert self.show(ConfigurationError("no such name"), capsys) == "Error: no such name\n"
        missing = FileNotFoundError(2, "No such file", "a.json")
        assert self.show(missing, capsys) == "Error: a.json: No such file\n"

    def test_a_package_that_is_not_installed_is_named(self, capsys: pytest.CaptureFixture) -> None:
        missing = ModuleNotFoundError("No module named 'scipy'", name="scipy")
        sentence = "Error: scipy is not installed: pip install 'bidaf_plugin[analysis]'\n"
        assert self.show(missing, capsys) == sentence
        # Where a package of somebody else is missing, people need the place.
        other = ModuleNotFoundError("No module named 'theirs'", name="theirs")
        assert "Traceback" in self.show(other, capsys)

    def test_a_damaged_archive_and_broken_jsonnet_are_named(
        self, capsys: pytest.CaptureFixture, tmp_path: Path
    ) -> None:
        archive = tmp_path / "model.tar.gz"
        archive.write_bytes(gzip.compress(b"not a tar file"))
        with pytest.raises(tarfile.ReadError) as damaged:
            load_archive(archive)
        assert f"Error: {archive}: the archive is truncated" in self.show(damaged.value, capsys)

        config = tmp_path / "broken.jsonnet"
        config.write_text("{\n  model: ,\n}")
        with pytest.raises(RuntimeError) as broken:
            Params.from_file(config)
        shown = self.show(broken.value, capsys)
        assert shown.startswith(f"Error: in the config: {config}:2")
        assert len(shown.splitlines()) == 1

    def test_a_gpu_that_is_not_there(self, capsys: pytest.CaptureFixture) -> None:
        message = "Cannot access accelerator device when none is available."
        assert self.show(RuntimeError(message), capsys) == (
            "Error: there is no GPU on this machine; cuda_device -1 is the CPU\n"
        )

    def test_what_a_worker_of_the_data_loader_raises_is_one_sentence(
        self, capsys: pytest.CaptureFixture, tmp_path: Path
    ) -> None:
        (tmp_path / "bad.question").write_text("")
        with pytest.raises(WorkerError) as failed:
            MultiProcessDataLoader(
                BidafClozeReader(), str(tmp_path), batch_size=1, num_workers=1, quiet=True
            )
        shown = self.show(failed.value, capsys)
        assert shown == f"Error: {tmp_path}/bad.question: the article is missing\n"

    def test_a_message_of_several_lines_from_a_worker(self, capsys: pytest.CaptureFixture) -> None:
        name = f"{ConfigurationError.__module__}.ConfigurationError"
        trace = 'Traceback (most recent call last):\n  File "x", line 1, in y\n    z()\n'
        error = WorkerError("0", trace + f"{name}: first\nsecond")
        assert self.show(error, capsys) == "Error: first\nsecond\n"
        # A sentence that was caught, and then something went wrong.
        error = WorkerError("0", f"{name}: caught\n\n{trace}ValueError: a bug")
        assert self.show(error, capsys).startswith("Traceback")

    def test_a_batch_size_beside_a_sampler(
        self, capsys: pytest.CaptureFixture, tmp_path: Path
    ) -> None:
        with pytest.raises(ValueError) as raised:
            MultiProcessDataLoader(
                BidafClozeReader(),
                str(tmp_path),
                batch_size=1,
                batch_sampler=WindowBudgetSampler(1),
            )
        assert "batch_sampler.batch_size" in self.show(raised.value, capsys)

    def test_a_file_in_place_of_a_folder(
        self, capsys: pytest.CaptureFixture, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_text("")
        for error_class, make in (
            (FileExistsError, lambda: (tmp_path / "file").mkdir()),
            (NotADirectoryError, lambda: (tmp_path / "file" / "x").mkdir()),
        ):
            with pytest.raises(error_class) as raised:
                make()
            assert self.show(raised.value, capsys).startswith(f"Error: {tmp_path}/file")

    def test_overrides_and_unknown_arguments(self, capsys: pytest.CaptureFixture) -> None:
        with pytest.raises(RuntimeError) as raised:
            Params.from_file(ROOT / "training_configs" / "bidaf_squad.jsonnet", "{bad")
        assert self.show(raised.value, capsys).startswith("Error: in the overrides: ")
        with pytest.raises(TypeError) as unknown:
            Model.from_params(
                Params({**tiny_params()["model"], "droput": 0.1}), vocab=Vocabulary.empty()
            )
        assert self.show(unknown.value, capsys) == "Error: in the config: Model has no 'droput'\n"

    @pytest.mark.parametrize(
        "part, key, value, message",
        [
            (
                "contextual_layer",
                "hidden_size",
                "x",
                "model.contextual_layer.hidden_size: Expected",
            ),
            ("contextual_layer", "hidden_size", 10**30, "model.contextual_layer: "),
            ("", "dropout", 7, "model: dropout probability has to be between 0 and 1, but got 7"),
        ],
    )
    def test_a_value_of_the_config_is_named(
        self, part: str, key: str, value: Any, message: str, capsys: pytest.CaptureFixture
    ) -> None:
        config = Params({"model": tiny_params()["model"]})
        (config["model"][part] if part else config["model"])[key] = value
        with pytest.raises(Exception) as raised:  # noqa: B017
            Model.from_params(config["model"], vocab=Vocabulary.empty())
        shown = self.show(raised.value, capsys)
        assert shown.startswith(f"Error: in the config: {message}")
        assert len(shown.splitlines()) == 1

    def test_what_may_be_a_fault_of_one_s_own_class_says_how_to_see_more(
        self, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fail(self: Any, *args: Any, **kwargs: Any) -> None:
            raise KeyError("x")

        monkeypatch.setattr(WindowBudgetSampler, "__init__", fail)
        with pytest.raises(KeyError) as raised:
            WindowBudgetSampler.from_params(Params({}))
        shown = self.show(raised.value, capsys)
        assert shown == "Error: in the config: KeyError: 'x' (ALLENNLP_DEBUG=1 shows where)\n"

    def test_a_bug_met_while_data_is_read_keeps_its_traceback(
        self, capsys: pytest.CaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def _read(self: Any, path: str) -> Any:
            raise KeyError("a bug")

        monkeypatch.setattr(BidafClozeReader, "_read", _read)
        with pytest.raises(KeyError) as raised:
            MultiProcessDataLoader.from_params(
                Params({"batch_size": 1}), reader=BidafClozeReader(), data_path=str(tmp_path)
            )
        assert "Traceback" in self.show(raised.value, capsys)

    @pytest.mark.parametrize("seed", [-1, "x", {}, float("inf")])
    def test_seeds_are_whole_numbers(self, seed: Any, capsys: pytest.CaptureFixture) -> None:
        with pytest.raises(Exception) as raised:  # noqa: B017
            prepare_environment(Params({"numpy_seed": seed}))
        assert "in the config: random_seed, numpy_seed" in self.show(raised.value, capsys)

    def test_memory_and_names_of_files(self, capsys: pytest.CaptureFixture, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError) as raised:
            torch.empty(10**15)
        shown = self.show(raised.value, capsys)
        assert shown.startswith("Error: there is not enough memory: ")
        assert len(shown.splitlines()) == 1
        with pytest.raises(OSError, match="too long") as too_long:
            (tmp_path / ("x" * 1000)).read_text()
        assert self.show(too_long.value, capsys).endswith("xxx: File name too long\n")

    def test_an_interruption_is_one_word(self, capsys: pytest.CaptureFixture) -> None:
        assert self.show(KeyboardInterrupt(), capsys) == "\nInterrupted\n"

    def test_being_told_to_end_is_one_word(self, capsys: pytest.CaptureFixture) -> None:
        with pytest.raises(SystemExit) as ended:
            self.show(SigTermReceived(), capsys)
        # What a shell makes of the signal.
        assert ended.value.code == 143
        assert capsys.readouterr().err == "\nStopped\n"

    def test_a_full_disk_is_one_sentence(self, capsys: pytest.CaptureFixture) -> None:
        shown = self.show(OSError(errno.ENOSPC, "No space left", "out.json"), capsys)
        assert shown == "Error: out.json: No space left\n"
        assert self.show(OSError(errno.ENOSPC, "No space left"), capsys) == "Error: No space left\n"

        def train_model(serialization_dir: str) -> None:
            """Stands for AllenNLP's, whose files are written without their names in the errors."""
            raise OSError(errno.ENOSPC, "No space left")

        with pytest.raises(OSError) as raised:
            train_model("runs/full")
        assert self.show(raised.value, capsys) == "Error: runs/full: No space left\n"
        raised_there = (
            "-- Process 0 terminated\nTraceback\nOSError: [Errno 28] No space left: 'x.th'\n"
        )
        shown = self.show(ProcessRaisedException(raised_there, 0, 1), capsys)
        assert shown == "Error: [Errno 28] No space left: 'x.th'\n"

    def test_a_process_of_distributed_training_that_was_killed(
        self, capsys: pytest.CaptureFixture
    ) -> None:
        message = "process 1 terminated with signal SIGKILL"
        silent = "RuntimeError: Timed out waiting 10000ms for recv operation to complete"
        lost = "RuntimeError: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [::1]:80"
        for error, reason in (
            (ProcessExitedException(message, 1, 2, -9, "SIGKILL"), message),
            (ProcessRaisedException(f"Traceback\n{lost}\n", 0, 1), "closed its connection"),
            (ProcessRaisedException(f"Traceback\n{silent}\n", 0, 1), "it does not answer"),
        ):
            (sentence,) = self.show(error, capsys).splitlines()
            assert sentence.startswith("Error: a process of distributed training has died")
            assert reason in sentence and "--recover" in sentence

    def test_a_first_host_that_does_not_answer(self, capsys: pytest.CaptureFixture) -> None:
        message = (
            "torch.distributed.DistNetworkError: The client socket has failed to connect to any "
            "network address of (10.0.0.1, 29500). The client socket has failed ... (errno: 101)."
        )
        sentence = self.show(ProcessRaisedException(f"Traceback\n{message}\n", 0, 1), capsys)
        assert sentence.startswith(
            "Error: nobody answers at 10.0.0.1:29500, which the config names"
        )

    def test_what_we_must_mend_keeps_its_traceback(self, capsys: pytest.CaptureFixture) -> None:
        assert "Traceback" in self.show(ValueError("a bug"), capsys)

    def test_debugging_shows_everything(
        self, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("ALLENNLP_DEBUG", "1")
        assert "Traceback" in self.show(DataError("x"), capsys)

    def test_is_installed_once(self) -> None:
        hook = sys.excepthook
        install_error_messages()
        assert sys.excepthook is hook
