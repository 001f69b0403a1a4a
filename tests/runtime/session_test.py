import json
import sys
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict

import numpy
import onnx
import pytest
from onnx import helper

from bidaf_plugin.export import export_archive
from bidaf_plugin.runtime.session import ExportedModelError, Session, with_checksum


@pytest.fixture(scope="module")
def exported(tiny_archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("exported") / "model.onnx"
    export_archive(str(tiny_archive), str(out))
    return out


def changed(exported: Path, change: Callable[[onnx.ModelProto, Dict[str, Any]], Any]) -> bytes:
    """The file with another graph or other metadata, and the checksum that belongs to it."""
    model = onnx.load(str(exported))
    metadata = json.loads(model.metadata_props[0].value)
    change(model, metadata)
    helper.set_model_props(model, {"bidaf": json.dumps(metadata)})
    return with_checksum(model.SerializeToString())


def message_of(path: Path) -> str:
    with pytest.raises(ExportedModelError) as caught:
        Session(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    return message


class TestSession:
    def test_a_question(self, exported: Path) -> None:
        session = Session(exported)
        arrays = {
            "question_words": numpy.array([[2, 3], [3, 0]]),
            "question_characters": numpy.ones((2, 2, 16), dtype=numpy.int64),
            "question_lengths": numpy.array([2, 1]),
            "passage_words": numpy.array([[4, 5, 6], [7, 0, 0]]),
            "passage_characters": numpy.ones((2, 3, 16), dtype=numpy.int64),
            "passage_lengths": numpy.array([3, 1]),
        }
        assert sorted(session.input_names) == sorted(arrays)
        outputs = session.run(arrays)
        assert outputs["start_logits"].shape == outputs["end_logits"].shape == (2, 3)
        assert outputs["end_logits"].dtype == numpy.float32

    def test_a_zip_file_with_the_network_in_it(self, exported: Path, tmp_path: Path) -> None:
        path = tmp_path / "model.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(exported, "model.onnx")
        assert Session(path).metadata == Session(exported).metadata
        with zipfile.ZipFile(path, "w") as archive:
            archive.write(exported, "network.onnx")
        assert "there is no model.onnx in it" in message_of(path)
        path.write_bytes(path.read_bytes()[:100] + path.read_bytes()[-50:])
        message_of(path)

    @pytest.mark.parametrize("share", [0.0, 0.3, 0.9999])
    def test_a_part_of_a_file(self, share: float, exported: Path, tmp_path: Path) -> None:
        content = exported.read_bytes()
        path = tmp_path / "part.onnx"
        path.write_bytes(content[: int(share * len(content))])
        assert "or not the whole of it" in message_of(path)

    def test_no_file(self, tmp_path: Path) -> None:
        assert "No such file" in message_of(tmp_path / "none.onnx")
        assert "directory" in message_of(tmp_path)

    def test_the_file_of_another_program(self, tmp_path: Path) -> None:
        node = helper.make_node("Relu", ["x"], ["y"])
        shape = [helper.make_tensor_value_info(name, 1, [1]) for name in ("x", "y")]
        graph = helper.make_graph([node], "other", shape[:1], shape[1:])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        path = tmp_path / "other.onnx"
        path.write_bytes(model.SerializeToString())
        assert "not a model that 'allennlp bidaf export' wrote" in message_of(path)
        path.write_bytes(with_checksum(model.SerializeToString()))
        assert "its metadata are not those of such a model" in message_of(path)

    def test_a_vocabulary_that_was_tampered_with(self, exported: Path, tmp_path: Path) -> None:
        content = exported.read_bytes()
        word = b'"the"'
        assert content.count(word) == 1
        path = tmp_path / "model.onnx"
        path.write_bytes(content.replace(word, b'"and"'))
        assert "its checksum is wrong" in message_of(path)

    @pytest.mark.parametrize("kind", ["tokens", "token_characters"])
    def test_more_words_than_vectors(self, kind: str, exported: Path, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(
            changed(exported, lambda _, metadata: metadata["vocabulary"][kind].append("more"))
        )
        assert "its network does not go with its vocabulary" in message_of(path)

    def test_a_newer_format_or_opset(self, exported: Path, tmp_path: Path) -> None:
        path = tmp_path / "model.onnx"
        path.write_bytes(changed(exported, lambda _, metadata: metadata.update(format=2)))
        assert "its format is 2, and this program reads up to 1" in message_of(path)

        def raise_opset(model: onnx.ModelProto, _: Any) -> None:
            model.opset_import[0].version = 99

        path.write_bytes(changed(exported, raise_opset))
        assert "cannot load it" in message_of(path)

    @pytest.mark.parametrize("metadata", [[], {"format": 1}, {"format": True}, {"settings": {}}])
    def test_other_metadata(self, metadata: Any, exported: Path, tmp_path: Path) -> None:
        model = onnx.load(str(exported))
        helper.set_model_props(model, {"bidaf": json.dumps(metadata)})
        path = tmp_path / "model.onnx"
        path.write_bytes(with_checksum(model.SerializeToString()))
        assert "its metadata are not" in message_of(path)

    def test_a_missing_onnxruntime_is_named(
        self, exported: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "onnxruntime", None)
        assert "pip install onnxruntime" in message_of(exported)

    def test_arrays_that_are_missing_or_beyond_the_tables(self, exported: Path) -> None:
        session = Session(exported)
        with pytest.raises(ExportedModelError, match=f"{exported}: "):
            session.run({})
        arrays = {
            name: numpy.ones(
                (1,) if name.endswith("lengths") else (1, 1, 16)[: 3 if "char" in name else 2],
                dtype=numpy.int64,
            )
            for name in session.input_names
        }
        session.run(arrays)
        arrays["passage_words"][0, 0] = 1_000_000
        with pytest.raises(ExportedModelError, match=f"{exported}: "):
            session.run(arrays)
