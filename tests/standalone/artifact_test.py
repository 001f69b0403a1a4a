import zipfile
from pathlib import Path

import pytest

from bidaf_plugin.export import export_archive
from bidaf_plugin.standalone import ExportedModel, ExportedModelError
from bidaf_plugin.standalone.artifact import Artifact


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
        "manifest, message",
        [
            ('{"format": "other"}', "not that of an exported model"),
            ('{"format": "bidaf_answer", "ver', "not that of an exported model"),
            ('{"format": "bidaf_answer"}', "not that of an exported model"),
            ("[]", "not that of an exported model"),
            ('{"format": "bidaf_answer", "version": 99}', "format version 99; .* up to 1"),
        ],
    )
    def test_other_formats_are_refused(self, manifest: str, message: str, tmp_path: Path) -> None:
        (tmp_path / "manifest.json").write_text(manifest)
        with pytest.raises(ExportedModelError, match=message):
            Artifact(tmp_path)
