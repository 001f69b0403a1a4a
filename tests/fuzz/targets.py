"""
What is given damaged files, each through the door that its users have: the `allennlp` command, the
program of an exported model, `load_predictor`, and requests to the server.
"""

import gzip
import io
import json
import shutil
import sys
import tarfile
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import Random
from traceback import walk_tb
from typing import Any, Callable, Dict, Iterator
from unittest.mock import patch

import onnx
import torch
from allennlp.commands import main
from starlette.testclient import TestClient

from bidaf_plugin.archives import load_predictor
from bidaf_plugin.export import export_archive
from bidaf_plugin.runtime.command import main as run_exported
from bidaf_plugin.runtime.session import METADATA_KEY, with_checksum
from bidaf_plugin.server.models import load_models
from tests.cloze_helpers import TINY_CLOZE, tiny_cloze_params, write_tar
from tests.fuzz.mutators import mutate_bytes, mutate_json, mutate_tar, to_json
from tests.helpers import TINY_SQUAD, tiny_params
from tests.server.helpers import PASSAGE, QUESTION, RECORD, serving

# Is given a damaged input of its own making, in an empty folder.
Target = Callable[[Random, Path], None]

_BUDGET = ("--steps", 2, "--evaluations", 2)
_CLOZE_RECORD = {"question": "@placeholder met @entity2", "passage": "@entity1 met @entity2 ."}


class TooLong(BaseException):
    """An input takes too long. No `Exception`, so that nothing takes it for one of its own."""


class ServerFailed(Exception):
    """A response of the server with a status of 500 or more."""


def allennlp(*arguments: Any) -> None:
    """The `allennlp` command, in this process."""
    with patch.object(sys, "argv", ["allennlp", *map(str, arguments)]):
        main(prog="allennlp")


@contextmanager
def open_targets(folder: Path) -> Iterator[Dict[str, Target]]:
    """Makes, in `folder`, the whole files that targets damage; the targets by their names."""
    material = _Material(folder)
    with ExitStack() as stack:
        models = load_models([str(material.archive), str(material.cloze_archive)])
        client, _, _ = stack.enter_context(serving(models))
        yield {
            "archives": material.read_archive,
            "configs of archives": material.read_archive_config,
            "training configs": material.train,
            "checkpoints": material.recover,
            "run folders, report": material.report,
            "run folders, study": material.study,
            "exported models": material.answer_exported,
            "SQuAD files": material.read_squad,
            "JSON lines": material.read_lines,
            "cloze files": material.read_cloze,
            "requests": lambda random, _: send_request(random, client),
        }


class _Material:
    def __init__(self, folder: Path) -> None:
        self.config = folder / "tiny.json"
        self.config.write_text(json.dumps(tiny_params()))
        self.cloze_config = folder / "cloze.json"
        self.cloze_config.write_text(json.dumps(tiny_cloze_params()))
        # Two epochs each.
        self._study = folder / "study"
        allennlp("bidaf", "study", *_BUDGET, self.config, "-s", self._study)
        self._run = self._study / "tiny"
        self.archive = self._run / "model.tar.gz"
        allennlp("train", self.cloze_config, "-s", folder / "cloze")
        self.cloze_archive = folder / "cloze" / "model.tar.gz"
        exported = folder / "exported.onnx"
        export_archive(str(self.archive), str(exported))
        self._exported = exported.read_bytes()
        self._lines = folder / "questions.jsonl"
        self._lines.write_text(json.dumps(RECORD) + "\n")
        questions = sorted(TINY_CLOZE.iterdir())
        self._cloze_tar = write_tar(folder / "tar", [path.name for path in questions], "w:")
        self._packed = folder / "packed.cloze"
        allennlp("bidaf", "pack-cloze", TINY_CLOZE, self._packed)

    def read_archive(self, random: Random, folder: Path) -> None:
        original = random.choice([self.archive, self.cloze_archive])
        content = original.read_bytes()
        kind = random.choice(["gzip", "tar", "heads", "heads", "member", "member", "member"])
        if kind == "gzip":
            content = mutate_bytes(random, content)
        elif kind == "tar":
            content = gzip.compress(mutate_bytes(random, gzip.decompress(content)), 1)
        elif kind == "heads":
            content = gzip.compress(mutate_tar(random, gzip.decompress(content)), 1)
        else:
            content = _damage_member(random, content)
        self._use_archive(random, folder, content, original == self.cloze_archive)

    def read_archive_config(self, random: Random, folder: Path) -> None:
        original = random.choice([self.archive, self.cloze_archive])
        content = _damage_member(random, original.read_bytes(), "config.json")
        self._use_archive(random, folder, content, original == self.cloze_archive)

    def _use_archive(self, random: Random, folder: Path, content: bytes, is_cloze: bool) -> None:
        archive = folder / "model.tar.gz"
        archive.write_bytes(content)
        command = random.choice(["load_predictor", "predict", "evaluate"])
        if command == "load_predictor":
            load_predictor(archive).predict_json(_CLOZE_RECORD if is_cloze else RECORD)
        elif command == "predict":
            output = ("--output-file", folder / "answers.jsonl", "--silent")
            allennlp("predict", archive, self._lines, *output)
        else:
            allennlp("evaluate", archive, TINY_CLOZE if is_cloze else TINY_SQUAD)

    def train(self, random: Random, folder: Path) -> None:
        config = json.loads(random.choice([self.config, self.cloze_config]).read_bytes())
        content = to_json(mutate_json(random, config))
        if random.random() < 0.05:
            content = mutate_bytes(random, content)
        (folder / "config.json").write_bytes(content)
        command = random.choice(
            [("train",)] * 8 + [("bidaf", "study", *_BUDGET), ("bidaf", "table")]
        )
        run = ("-s", folder / "run") if "table" not in command else ()
        try:
            allennlp(*command, folder / "config.json", *run)
        except TooLong as error:
            if not _is_at_work(error):
                raise

    def recover(self, random: Random, folder: Path) -> None:
        run = folder / "run"
        # As it was when the second epoch had not ended, or before the archive was written.
        last = random.choice([("*_e2_*", "metrics_epoch_1.json"), ()])
        ignored = shutil.ignore_patterns("model.tar.gz", "metrics.json", *last)
        shutil.copytree(self._run, run, ignore=ignored)
        _damage_a_file(random, run, "*.th" if random.random() < 0.7 else "**/*")
        allennlp("train", self._run / "config.json", "-s", run, "--recover")

    def report(self, random: Random, folder: Path) -> None:
        run = folder / "run"
        shutil.copytree(self._run, run, ignore=shutil.ignore_patterns("*.th", "*.gz", "vocabulary"))
        for _ in range(random.randint(1, 2)):
            _damage_a_file(random, run)
        allennlp("bidaf", "report", run, "-o", folder / "report.html")

    def study(self, random: Random, folder: Path) -> None:
        study = folder / "study"
        ignored = shutil.ignore_patterns("*_state_*", "comparison.*", "vocabulary")
        shutil.copytree(self._study, study, ignore=ignored)
        _damage_a_file(random, study / "tiny", "metrics*" if random.random() < 0.8 else "*")
        allennlp("bidaf", "study", *_BUDGET, self.config, "-s", study)

    def answer_exported(self, random: Random, folder: Path) -> None:
        if random.random() < 0.5:
            content = mutate_bytes(random, self._exported)
        else:
            model = onnx.load_from_string(self._exported)
            metadata = _damage(random, model.metadata_props[0].value.encode(), is_json=True)
            text = metadata.decode("utf-8", errors="replace")
            onnx.helper.set_model_props(model, {METADATA_KEY: text})
            content = model.SerializeToString()
        # Mostly damaged by someone who wants it to be read.
        path = folder / "model.onnx"
        path.write_bytes(with_checksum(content) if random.random() < 0.9 else content)
        raise SystemExit(run_exported(["--question", QUESTION, "--passage", PASSAGE], path))

    def read_squad(self, random: Random, folder: Path) -> None:
        data, predictions = folder / "data.json", folder / "predictions.json"
        answers = {"q1": "Ada", "q2": ""}
        is_data_damaged = random.random() < 0.8
        content = TINY_SQUAD.read_bytes()
        data.write_bytes(_damage(random, content, is_json=True) if is_data_damaged else content)
        content = to_json(answers if is_data_damaged else mutate_json(random, answers))
        predictions.write_bytes(content)
        command = random.choice(["evaluate", "predict", "score", "errors"])
        if not is_data_damaged or command in ("score", "errors"):
            output = ("-o", folder / "sheet") if command == "errors" else ()
            name = "errors" if command == "errors" else "score"
            allennlp("bidaf", name, data, predictions, *output)
        elif command == "evaluate":
            allennlp("evaluate", self.archive, data)
        else:
            options = ("--use-dataset-reader", "--silent", "--output-file", folder / "answers")
            allennlp("predict", self.archive, data, *options)

    def read_lines(self, random: Random, folder: Path) -> None:
        is_cloze = random.random() < 0.3
        record = {**(_CLOZE_RECORD if is_cloze else RECORD), "id": 1, "n_best": 2}
        if not is_cloze and random.random() < 0.3:
            record["passages"] = [record.pop("passage"), PASSAGE]
        lines = b"\n".join(_damage(random, to_json(record), is_json=True) for _ in range(2))
        path = folder / "questions.jsonl"
        path.write_bytes(lines)
        options = ["--silent", "--output-file", folder / "answers.jsonl"]
        if random.random() < 0.3:
            options += ["--predictor-args", '{"skip_bad": true}']
        allennlp("predict", self.cloze_archive if is_cloze else self.archive, path, *options)

    def read_cloze(self, random: Random, folder: Path) -> None:
        kind = random.choice(["file", "file", "tar", "packed"])
        source = folder / "source"
        if kind == "file":
            shutil.copytree(TINY_CLOZE, source)
            _damage_a_file(random, source)
        elif kind == "tar":
            damage = random.choice([mutate_bytes, mutate_tar])
            source.write_bytes(damage(random, self._cloze_tar.read_bytes()))
        else:
            source.write_bytes(mutate_bytes(random, self._packed.read_bytes()))
        if random.random() < 0.5:
            allennlp("evaluate", self.cloze_archive, source)
        else:
            allennlp("bidaf", "pack-cloze", source, folder / "packed", "--skip-bad")


def _is_at_work(error: TooLong) -> bool:
    """A million epochs, or layers, take their time: whoever asks for them may wait."""
    frames = [frame for frame, _ in walk_tb(error.__traceback__)]
    is_training = any(frame.f_code.co_name == "_train_epoch" for frame in frames)
    return is_training or any(isinstance(f.f_locals.get("self"), torch.nn.Module) for f in frames)


def _damage(random: Random, content: bytes, is_json: bool) -> bytes:
    if is_json and random.random() < 0.8:
        # What was damaged before may be no JSON any more.
        with suppress(ValueError, RecursionError):
            return to_json(mutate_json(random, json.loads(content)))
    return mutate_bytes(random, content)


def _damage_a_file(random: Random, folder: Path, pattern: str = "**/*") -> None:
    """Damages, empties or removes one of the files, or puts a folder in its place."""
    path = random.choice(sorted(path for path in folder.glob(pattern) if path.is_file()))
    kind = random.choice([*["damage"] * 17, "empty", "remove", "folder"])
    content = path.read_bytes()
    path.unlink()
    if kind == "damage":
        path.write_bytes(_damage(random, content, path.suffix == ".json"))
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()


def _damage_member(random: Random, content: bytes, name: str = "") -> bytes:
    """An archive with one member damaged, all others being as they were."""
    new_content = io.BytesIO()
    with (
        tarfile.open(fileobj=io.BytesIO(content)) as archive,
        tarfile.open(fileobj=new_content, mode="w:gz", compresslevel=1) as new_archive,
    ):
        members = [member for member in archive.getmembers() if member.isfile()]
        chosen = name or random.choice([member.name for member in members])
        for member in members:
            file = archive.extractfile(member)
            assert file is not None
            member_content = file.read()
            if member.name == chosen:
                is_json = member.name.endswith(".json")
                member_content = _damage(random, member_content, is_json)
            member.size = len(member_content)
            new_archive.addfile(member, io.BytesIO(member_content))
    return new_content.getvalue()


_PATHS = (
    *("/api/answer", "/api/answers", "/api/attention"),
    *("/api/models", "/api/health", "/metrics", "/", "/docs", "/openapi.json", "/page/page.js"),
    *("/page/../../routes.py", "/page/%2e%2e/routes.py", "/%00", "/%ff", "//", "/docs/swagger/"),
)
_HEADERS = {
    "content-type": ("application/json", "text/plain", "application/json; charset=x", "", ";"),
    "host": ("127.0.0.1", "localhost:1", "x", "", "[::1", "\xff"),
    "content-length": ("-1", "99999999999", "x", "0"),
    "transfer-encoding": ("chunked", "x"),
    "range": ("bytes=0-0", "bytes=9-1", "bytes=-9999999", "x", "bytes=0-0,1-1", "bytes=--1"),
    "accept-encoding": ("gzip", "x;q=x"),
    "if-modified-since": ("x", "Thu, 01 Jan 1970 00:00:00 GMT"),
    "if-none-match": ("*", '"x"'),
    "origin": ("null", "\xff"),
}


def send_request(random: Random, client: TestClient) -> None:
    """A damaged request; most of them are questions."""
    is_question = random.random() < 0.8
    path = random.choice(_PATHS[:3] if is_question else _PATHS)
    model, record = random.choice([("tiny", RECORD), ("cloze", _CLOZE_RECORD)])
    body: Any = {**record, "model": model}
    if path == "/api/answer":
        body.update(id="1", n_best=2)
    elif path == "/api/answers":
        body = {"questions": [{**record, "id": "1"}, {**record, "n_best": 2}], "model": model}
    headers = {"content-type": "application/json"}
    for name in random.sample(sorted(_HEADERS), random.choice([0, 0, 0, 1, 2])):
        headers[name] = random.choice(_HEADERS[name])
    methods = ["POST" if is_question else "GET"] * 15 + ["HEAD", "PUT", "OPTIONS", "X" * 100]
    response = client.request(
        random.choice(methods),
        path,
        content=_damage(random, to_json(body), is_json=True),
        headers=[(name, value.encode("latin-1")) for name, value in headers.items()],
        params=random.choice([None, None, {"x": "\0\xff"}]),
    )
    if response.status_code >= 500:
        raise ServerFailed(f"{response.status_code}: {response.text}")
    if response.status_code >= 400:
        raise SystemExit(response.text)
