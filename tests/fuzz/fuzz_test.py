"""
The fuzzer, shortly; `make fuzz` runs it for as long as is wanted.
"""

import io
import json
import sys
import tarfile
import time
from pathlib import Path
from random import Random
from typing import Iterator

import pytest

from bidaf_plugin.common.errors import DataError
from tests.fuzz.mutators import mutate_bytes, mutate_json, mutate_tar, to_json
from tests.fuzz.runner import (
    FINE,
    HANG,
    SENTENCE,
    SERVER_ERROR,
    TRACEBACK,
    quietly,
    run_input,
    run_target,
)
from tests.fuzz.targets import ServerFailed, Target, TooLong, open_targets

# How many inputs of each target: as many as a second or two allow.
_INPUTS = {
    "archives": 6,
    "configs of archives": 8,
    "training configs": 6,
    "checkpoints": 4,
    "run folders, report": 10,
    "run folders, study": 6,
    "exported models": 60,
    "SQuAD files": 8,
    "JSON lines": 6,
    "cloze files": 8,
    "requests": 60,
}


@pytest.fixture(scope="module")
def targets(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Target]]:
    with quietly():
        opened = open_targets(tmp_path_factory.mktemp("fuzz"))
        targets = opened.__enter__()
    yield targets
    opened.__exit__(None, None, None)


class TestTargets:
    @pytest.mark.parametrize("name", _INPUTS)
    def test_damaged_inputs_end_well_or_with_a_sentence(
        self, name: str, targets: dict[str, Target], tmp_path: Path
    ) -> None:
        num_inputs = _INPUTS[name]
        endings, failures = run_target(
            name, targets[name], 0, tmp_path, lambda number: number < num_inputs
        )
        assert not failures, "\n\n".join(map(str, failures.values()))
        assert endings.total() == num_inputs and endings[SENTENCE] > 0

    @pytest.mark.parametrize("name", sorted(_INPUTS.keys() - {"requests"}))
    def test_the_same_inputs_undamaged_are_fine(
        self, name: str, targets: dict[str, Target], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # Else nothing but the first check of many would ever be tried.
        for mutate in ("mutate_bytes", "mutate_json", "mutate_tar"):
            monkeypatch.setattr(f"tests.fuzz.targets.{mutate}", lambda random, value: value)
        monkeypatch.setattr("tests.fuzz.targets._damage_a_file", lambda *arguments: None)
        for number in range(2):
            ending, shown = run_input(name, targets[name], 0, number, tmp_path)
            assert ending == FINE, shown

    def test_every_target_is_run(self, targets: dict[str, Target]) -> None:
        assert set(targets) == set(_INPUTS)


def _raise(error: BaseException) -> Target:
    def target(random: Random, folder: Path) -> None:
        raise error

    return target


class TestRunInput:
    @pytest.mark.parametrize(
        "error, ending",
        [
            (DataError("x.json: not JSON"), SENTENCE),
            (DataError(""), TRACEBACK),
            (KeyError("x"), TRACEBACK),
            (SystemExit(1), SENTENCE),
            (SystemExit(0), FINE),
            (TooLong(), HANG),
            (ServerFailed("500"), SERVER_ERROR),
        ],
    )
    def test_endings(self, error: BaseException, ending: str, tmp_path: Path) -> None:
        assert run_input("x", _raise(error), 0, 0, tmp_path)[0] == ending

    def test_what_does_not_end_is_a_hang(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def target(random: Random, folder: Path) -> None:
            while True:
                # What catches everything else does not catch the end of its time.
                try:
                    time.sleep(0.01)
                except Exception:
                    continue

        monkeypatch.setattr("tests.fuzz.runner._CLOCK_SECONDS", 0.1)
        ending, shown = run_input("x", target, 0, 0, tmp_path)
        assert ending == HANG and "in target" in shown

    def test_a_printed_traceback_is_no_sentence(self, tmp_path: Path) -> None:
        def target(random: Random, folder: Path) -> None:
            print("Traceback (most recent call last):", file=sys.stderr)
            sys.exit(1)

        assert run_input("x", target, 0, 0, tmp_path)[0] == TRACEBACK

    def test_an_input_depends_on_its_number_and_the_seed_alone(self, tmp_path: Path) -> None:
        def target(random: Random, folder: Path) -> None:
            print(random.random())

        shown = [run_input("x", target, seed, n, tmp_path)[1] for seed in (0, 1) for n in (0, 1)]
        assert len(set(shown)) == 4 and run_input("x", target, 1, 1, tmp_path)[1] == shown[3]


class TestMutators:
    def test_json_is_changed_and_the_original_is_not(self) -> None:
        original = {"a": [1, {"b": "x"}], "c": None}
        before = json.dumps(original)
        found = {to_json(mutate_json(Random(seed), original)) for seed in range(300)}
        assert len(found) > 150 and json.dumps(original) == before
        # Among them: a key that is there twice, nesting, and a number of thousands of digits.
        assert any(content.count(b'"c":') == 2 for content in found)
        assert any(b"[" * 1000 in content for content in found)
        assert any(b"9" * 5000 in content for content in found)

    def test_bytes_are_changed(self) -> None:
        content = bytes(range(256))
        found = {mutate_bytes(Random(seed), content) for seed in range(100)}
        assert len(found) > 80
        assert {len(changed) > 256 for changed in found} == {True, False}

    def test_heads_of_tar_files_keep_valid_checksums(self) -> None:
        file = io.BytesIO()
        with tarfile.open(fileobj=file, mode="w") as archive:
            for name in ("a", "b"):
                member = tarfile.TarInfo(name)
                member.size = 700
                archive.addfile(member, io.BytesIO(bytes(700)))
        found = {mutate_tar(Random(seed), file.getvalue()) for seed in range(100)}
        assert len(found) > 20
        for content in found:
            assert int(content[148:154], 8) == sum(content[:148] + b" " * 8 + content[156:512])
