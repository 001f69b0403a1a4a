"""
The package as its users meet it: the plain `allennlp` command, in processes of its own.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

import pytest
import torch

from tests.archives.helpers import change_config, repack
from tests.cloze_helpers import CLOZE_SAMPLE, tiny_cloze_params
from tests.helpers import FIXTURES, ROOT, TINY_SQUAD, tiny_params

ALLENNLP = str(Path(sys.executable).parent / "allennlp")
# Several processes at once on few cores: torch's threads would only wait for each other.
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def allennlp(
    *arguments: str, cwd: Path = ROOT, stdin: Optional[str] = None, **environment: str
) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [ALLENNLP, *arguments],
        cwd=cwd,
        env={**ENVIRONMENT, **environment},
        input=stdin,
        capture_output=True,
        text=True,
        timeout=600,
    )


def write_config(folder: Path, choices: str = "", **top_level: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps({**tiny_params(choices), **top_level}))
    return path


def read_metrics(run: Path) -> Dict[str, float]:
    return json.loads((run / "metrics.json").read_text())


def start(*arguments: str, log: Path) -> "subprocess.Popen[bytes]":
    """A process that is not waited for. What it says goes to a file: a pipe that nobody reads fills up."""
    with log.open("wb") as file:
        return subprocess.Popen(
            [ALLENNLP, *arguments],
            cwd=ROOT,
            env=ENVIRONMENT,
            stdin=subprocess.PIPE,
            stdout=file,
            stderr=subprocess.STDOUT,
        )


def wait_for(folder: Path, pattern: str, process: "subprocess.Popen[bytes]") -> None:
    """Until a process has made a file."""
    deadline = time.monotonic() + 300
    while not list(folder.glob(pattern)):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)


def find_workers(pid: int) -> List[int]:
    """The processes of distributed training that a process has started."""
    workers = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = (path / "stat").read_text().rpartition(")")[2].split()[1]
            command = (path / "cmdline").read_text()
        except OSError:
            # It has ended.
            continue
        if int(parent) == pid and "spawn_main" in command:
            workers.append(int(path.name))
    return sorted(workers)


def assert_ended_well(process: "subprocess.CompletedProcess[str]") -> None:
    """Exit code 0, and neither warnings nor tracebacks on the screen."""
    output = process.stdout + process.stderr
    assert process.returncode == 0, output
    assert not re.search(r"warning|traceback", output, re.IGNORECASE), output


class TestCommandLine:
    def test_train_evaluate_and_predict_without_noise(self, tmp_path: Path) -> None:
        run = tmp_path / "run"
        trained = allennlp("train", str(write_config(tmp_path)), "-s", str(run))
        assert_ended_well(trained)
        metrics = read_metrics(run)

        archive = str(run / "model.tar.gz")
        output_file = tmp_path / "metrics.json"
        evaluated = allennlp(
            "evaluate", archive, str(TINY_SQUAD), "--output-file", str(output_file)
        )
        assert_ended_well(evaluated)
        for name, value in json.loads(output_file.read_text()).items():
            assert value == pytest.approx(metrics[f"best_validation_{name}"]), name

        # Standard input is a pipe here.
        record = json.dumps({"id": "x", "question": "Who?", "context": "It was Ada."})
        predicted = allennlp("predict", archive, "-", stdin=record + "\n")
        assert_ended_well(predicted)
        (line,) = (x for x in predicted.stdout.splitlines() if x.startswith("prediction:"))
        assert json.loads(line.removeprefix("prediction:"))["id"] == "x"

        answers = tmp_path / "answers.jsonl"
        predicted = allennlp(
            "predict", archive, str(TINY_SQUAD), "--use-dataset-reader", "--silent",
            "--output-file", str(answers), "--batch-size", "2",
        )  # fmt: skip
        assert_ended_well(predicted)
        assert [json.loads(line)["id"] for line in answers.read_text().splitlines()] == [
            f"tiny-{number}" for number in range(1, 6)
        ]

    @pytest.mark.parametrize("options", [[], ["--include-package", "bidaf_plugin"]])
    def test_the_plugin_is_found_from_any_folder(self, tmp_path: Path, options: List[str]) -> None:
        config = write_config(tmp_path)
        arguments = ["train", str(config), "-s", str(tmp_path / "run"), "--dry-run", *options]
        assert_ended_well(allennlp(*arguments, cwd=tmp_path))

    @pytest.mark.parametrize("command", ["predict", "evaluate"])
    def test_archives_with_classes_of_ones_own_are_trusted_as_the_error_says(
        self, tmp_path: Path, tiny_archive: Path, command: str
    ) -> None:
        (tmp_path / "my_parts.py").write_text(
            "from allennlp.data.tokenizers import WhitespaceTokenizer\n"
            "class Words(WhitespaceTokenizer):\n    pass\n"
        )
        change = change_config(
            lambda config: config["validation_dataset_reader"].update(
                tokenizer={"type": "my_parts.Words"}
            )
        )
        archive = str(repack(tiny_archive, tmp_path / "mine.tar.gz", change))
        options = ["--use-dataset-reader", "--silent"] if command == "predict" else []
        arguments = [command, archive, str(TINY_SQUAD), *options]
        refused = allennlp(*arguments, PYTHONPATH=str(tmp_path))
        assert refused.returncode == 1
        (sentence,) = (x for x in refused.stderr.splitlines() if x.startswith("Error: "))
        assert "names 'my_parts.Words'" in sentence
        assert sentence.endswith("for AllenNLP's own commands BIDAF_TRUST=1 in the environment")
        trusted = allennlp(*arguments, PYTHONPATH=str(tmp_path), BIDAF_TRUST="1")
        assert_ended_well(trusted)

    def test_help_lists_the_actions(self) -> None:
        shown = allennlp("bidaf", "--help")
        assert shown.returncode == 0, shown.stderr
        for action in ("answer", "calibrate", "quickstart", "score", "study", "table"):
            assert action in shown.stdout

    def test_faults_of_the_user_are_one_sentence(self, tmp_path: Path, tiny_archive: Path) -> None:
        broken = tmp_path / "broken.json"
        broken.write_text('{"data": [{"title": "T", "paragraphs": [{}]}]}')
        unfit: Dict[str, Any] = tiny_params()
        unfit["model"]["modeling_layer"]["input_size"] = 39
        wrong_sizes = tmp_path / "sizes.json"
        wrong_sizes.write_text(json.dumps(unfit))
        bad_lines = tmp_path / "bad.jsonl"
        bad_lines.write_bytes(b'{"question": "Who?", "passage": "caf\xe9"}\n')
        data_config = tmp_path / "data.json"
        data_config.write_text(json.dumps({**tiny_params(), "train_data_path": str(broken)}))
        cases: List[Any] = [
            (
                ["train", str(data_config), "-s", str(tmp_path / "a")],
                ["article 0 ('T')", "'context'"],
            ),
            (
                ["train", str(wrong_sizes), "-s", str(tmp_path / "b")],
                ["modeling_layer", "40", "39"],
            ),
            (["predict", str(tiny_archive), str(bad_lines)], ["bad.jsonl, line 1", "utf-8"]),
            (["evaluate", str(tiny_archive), str(tmp_path / "no.json")], ["no.json"]),
            (["bidaf", "score", str(broken), str(broken)], ["article 0 ('T')", "'context'"]),
            (["bidaf", "ensemble", "--data", str(TINY_SQUAD)], ["none is given"]),
            (["bidaf", "table", str(data_config), "-o", '{"model.foo": 1}'], ["foo"]),
            (["predict", str(tiny_archive), "-", "--predictor-args", '{"foo": 1}'], ["foo"]),
        ]
        for arguments, words in cases:
            ended = allennlp(*arguments)
            assert ended.returncode != 0
            assert "Traceback" not in ended.stdout + ended.stderr, ended.stderr
            (sentence,) = (x for x in ended.stderr.splitlines() if x.startswith("Error: "))
            for word in words:
                assert word in sentence, sentence

    @pytest.mark.parametrize("task", ["squad", "cloze"])
    def test_distributed_training_scores_every_question(self, tmp_path: Path, task: str) -> None:
        if task == "squad":
            # Five questions, two workers: an odd number, and one worker has a batch more.
            params = tiny_params("batch_size:: 1, validation_batch_size:: 1")
            params["distributed"] = {"cuda_devices": [-1, -1]}
        else:
            data = f"{CLOZE_SAMPLE}!sample/questions/validation"
            params = tiny_cloze_params(
                f"train_data:: '{data}', dev_data:: '{data}', batch_size:: 7, "
                "optimizer:: { type: 'adam', lr: 0.01 }, distributed: { cuda_devices: [-1, -1] }"
            )
        params.update(test_data_path=params["validation_data_path"], evaluate_on_test=True)
        config = tmp_path / "config.json"
        config.write_text(json.dumps(params))
        run = tmp_path / "run"
        trained = allennlp("train", str(config), "-s", str(run))
        assert trained.returncode == 0, trained.stderr
        output_file = tmp_path / "metrics.json"
        evaluated = allennlp(
            "evaluate",
            str(run / "model.tar.gz"),
            params["validation_data_path"],
            "--output-file",
            str(output_file),
        )
        assert evaluated.returncode == 0, evaluated.stderr
        alone = json.loads(output_file.read_text())
        together = read_metrics(run)
        scores = [name for name in alone if name != "loss"]
        assert len(scores) >= 1 and alone["f1" if task == "squad" else "accuracy"] > 0
        for name in scores:
            assert together[f"best_validation_{name}"] == pytest.approx(alone[name], abs=1e-9)
            assert together[f"test_{name}"] == pytest.approx(alone[name], abs=1e-9)

    @pytest.mark.parametrize("checkpoint", ["model_state_e1_b0.th", "model_state_e1_b5.th"])
    def test_a_killed_run_recovers_to_the_same_end(self, tmp_path: Path, checkpoint: str) -> None:
        # At the end of an epoch, and in the middle of one.
        sample = FIXTURES / "squad" / "sample_dev.json"
        choices = f"train_data:: '{sample}', dev_data:: '{sample}', num_epochs:: 3, batch_size:: 20"
        params = tiny_params(choices)
        params["trainer"]["checkpointer"] = {"save_every_num_batches": 5}
        config = write_config(tmp_path, choices, trainer=params["trainer"])
        whole, killed = tmp_path / "whole", tmp_path / "killed"
        assert allennlp("train", str(config), "-s", str(whole)).returncode == 0

        process = start("train", str(config), "-s", str(killed), log=tmp_path / "log")
        wait_for(killed, checkpoint, process)
        process.kill()
        process.communicate()
        assert not (killed / "model.tar.gz").exists()

        recovered = allennlp("train", str(config), "-s", str(killed), "--recover")
        assert recovered.returncode == 0, recovered.stderr
        for path in whole.glob("metrics*.json"):
            metrics = json.loads((killed / path.name).read_text())
            for name, value in json.loads(path.read_text()).items():
                if "memory" not in name and "duration" not in name:
                    assert metrics[name] == value, (path.name, name)
        best, best_of_killed = torch.load(whole / "best.th"), torch.load(killed / "best.th")
        assert all(torch.equal(best[name], best_of_killed[name]) for name in best)

    @pytest.mark.parametrize("command", ["train", "predict"])
    def test_being_told_to_end_is_one_word(
        self, tmp_path: Path, tiny_archive: Path, command: str
    ) -> None:
        config, folder = write_config(tmp_path, "num_epochs:: 10000"), tmp_path / "folder"
        folder.mkdir()
        if command == "train":
            arguments = ["train", str(config), "-s", str(folder / "run")]
            started = "run/model_state_e1_b0.th"
        else:
            # It waits for questions.
            arguments = [
                "predict",
                str(tiny_archive),
                "-",
                "--output-file",
                str(folder / "answers"),
            ]
            started = "answers.*.tmp"
        process = start(*arguments, log=tmp_path / "log")
        wait_for(folder, started, process)
        process.terminate()
        process.wait(timeout=100)
        output = (tmp_path / "log").read_text()
        assert process.returncode == 128 + signal.SIGTERM
        assert "Traceback" not in output
        assert output.splitlines()[-1] == "Stopped"
        assert not list(folder.rglob("*.tmp"))

    @pytest.mark.parametrize("who", ["a process of it", "the command"])
    def test_distributed_training_that_is_killed_ends_with_one_sentence(
        self, tmp_path: Path, who: str
    ) -> None:
        choices = "num_epochs:: 10000, batch_size:: 1"
        config = write_config(tmp_path, choices, distributed={"cuda_devices": [-1, -1]})
        run = tmp_path / "run"
        process = start("train", str(config), "-s", str(run), log=tmp_path / "log")
        wait_for(run, "model_state_e1_b0.th", process)
        workers = find_workers(process.pid)
        assert len(workers) == 2
        if who == "the command":
            process.terminate()
        else:
            os.kill(workers[1], signal.SIGKILL)
        process.wait(timeout=100)
        output = (tmp_path / "log").read_text()
        assert "Traceback" not in output
        if who == "the command":
            assert process.returncode == 128 + signal.SIGTERM
            assert "Stopped" in output.splitlines()
        else:
            assert process.returncode == 1
            (sentence,) = (line for line in output.splitlines() if line.startswith("Error: "))
            assert "a process of distributed training has died" in sentence
        assert find_workers(process.pid) == []
