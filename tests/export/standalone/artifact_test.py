import hashlib
import json
import math
import zipfile
from pathlib import Path
from typing import Any, Callable

import pytest
import torch
from safetensors.torch import load_file, save

from bidaf_plugin.export import export_archive
from bidaf_plugin.export.standalone import ExportedModel, ExportedModelError
from bidaf_plugin.export.standalone.artifact import Artifact


@pytest.fixture
def exported(tiny_archive: Path, tmp_path: Path) -> Path:
    path = tmp_path / "model.zip"
    export_archive(str(tiny_archive), str(path))
    return path


def unpack(exported: Path) -> Path:
    folder = exported.with_name("unpacked")
    with zipfile.ZipFile(exported) as archive:
        archive.extractall(folder)
    return folder


def forge(folder: Path, name: str, content: bytes) -> None:
    """Writes a file, and its checksum into the manifest."""
    (folder / name).write_bytes(content)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["sha256"][name] = hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))


class TestArtifact:
    def test_an_unpacked_file_is_the_same_model(self, exported: Path) -> None:
        question, passage = "Who planted it?", "It was planted by Ada in 1855."
        assert ExportedModel(unpack(exported)).answer(question, passage) == ExportedModel(
            exported
        ).answer(question, passage)

    def test_a_file_that_was_changed_is_refused(self, exported: Path) -> None:
        folder = unpack(exported)
        (folder / "vocabulary.json").write_text("{}")
        with pytest.raises(ExportedModelError, match="vocabulary.json is damaged"):
            ExportedModel(folder)
        (folder / "vocabulary.json").unlink()
        with pytest.raises(ExportedModelError, match="there is no vocabulary.json in it"):
            ExportedModel(folder)

    def test_what_is_no_exported_model_is_refused(
        self, exported: Path, tiny_archive: Path, tmp_path: Path
    ) -> None:
        content = exported.read_bytes()
        half, damaged = tmp_path / "half.zip", tmp_path / "damaged.zip"
        half.write_bytes(content[:5000])
        middle = content.index(b"weights.safetensors") + 5_000
        damaged.write_bytes(content[:middle] + b"damage" + content[middle + 6 :])
        for path, message in (
            (tmp_path / "none.zip", "there is no such file"),
            (half, "not an exported model, or a damaged one"),
            (damaged, "not an exported model, or a damaged one"),
            (tiny_archive, "not an exported model, or a damaged one"),
            (tmp_path, "not an exported model, there is no manifest.json in it"),
        ):
            with pytest.raises(ExportedModelError, match=message):
                ExportedModel(path)

    @pytest.mark.parametrize(
        "name, change, message",
        [
            ("settings.json", lambda settings: settings.pop("pieces"), "KeyError: 'pieces'"),
            ("settings.json", lambda settings: settings.update(network=1), "TypeError"),
            ("settings.json", lambda settings: settings.update(max_answer_length="x"), "TypeError"),
            # What a short passage does not need.
            ("settings.json", lambda settings: settings["pieces"].update(stride=0), "one every 0"),
            ("vocabulary.json", lambda words: words["tokens"].extend("abc"), "but .* vectors"),
            ("tokenizer.json", lambda rules: rules.update(prefix="("), "error: missing "),
            (
                "tokenizer.json",
                lambda rules: rules["special_cases"].update({"ab": ["b"]}),
                "'ab' is cut into",
            ),
        ],
    )
    def test_files_with_forged_checksums_are_refused_when_they_are_loaded(
        self, name: str, change: Callable[[Any], Any], message: str, exported: Path
    ) -> None:
        folder = unpack(exported)
        content = json.loads((folder / name).read_text())
        change(content)
        forge(folder, name, json.dumps(content).encode())
        with pytest.raises(ExportedModelError, match=f"not a whole exported model .*{message}"):
            ExportedModel(folder)

    @pytest.mark.parametrize("value", [math.nan, 1e38])
    def test_weights_that_are_no_numbers_are_refused(self, value: float, exported: Path) -> None:
        folder = unpack(exported)
        tensors = load_file(folder / "weights.safetensors")
        changed = {name: torch.full_like(tensor, value) for name, tensor in tensors.items()}
        forge(folder, "weights.safetensors", save(changed))
        with pytest.raises(ExportedModelError, match="not a whole exported model"):
            ExportedModel(folder)

    @pytest.mark.parametrize(
        "manifest, message",
        [
            ('{"format": "other"}', "not that of an exported model"),
            ('{"format": "bidaf_answer", "ver', "not that of an exported model"),
            ('{"format": "bidaf_answer"}', "not that of an exported model"),
            ("[]", "not that of an exported model"),
            ("[" * 100_000, "not that of an exported model"),
            ('{"format": "bidaf_answer", "version": 99}', "format version 99; .* up to 1"),
        ],
    )
    def test_other_formats_are_refused(self, manifest: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "manifest.json").write_text(manifest)
        with pytest.raises(ExportedModelError, match=message):
            Artifact(tmp_path)
