import io
from functools import partial
from pathlib import Path
from typing import Any, Dict, Tuple

import pytest
import torch
from allennlp.commands import evaluate, predict

from bidaf_plugin.archives import load_predictor, load_span_predictor
from bidaf_plugin.common import tar_files
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import ClozePredictor, SpanPredictor
from tests.archives.helpers import change_config, change_weights, read_member, repack


def set_model_type(name: str, config: Dict[str, Any]) -> None:
    config["model"]["type"] = name


class TestLoad:
    def test_loads_archives_and_folders_of_runs(self, tiny_archive: Path) -> None:
        for path in (tiny_archive, str(tiny_archive), tiny_archive.parent):
            predictor = load_span_predictor(path, max_answer_length=1)
            assert isinstance(predictor, SpanPredictor)
            first, last = predictor.predict("Who?", "It was Ada.")["best_span"]
            assert first == last

    def test_loads_cloze_models_where_they_will_do(self, tiny_cloze_archive: Path) -> None:
        assert isinstance(load_predictor(tiny_cloze_archive), ClozePredictor)
        with pytest.raises(DataError, match="not a model that answers with spans"):
            load_span_predictor(tiny_cloze_archive, n_best=5)

    def refuse(self, path: Path, message: str) -> None:
        with pytest.raises(DataError, match=message) as error:
            load_span_predictor(path)
        assert str(path) in str(error.value)
        assert len(str(error.value).splitlines()) == 1

    def test_what_is_not_an_archive(self, tiny_archive: Path, tmp_path: Path) -> None:
        self.refuse(tmp_path / "absent.tar.gz", "no such file")
        text = tmp_path / "text.tar.gz"
        text.write_text("hello")
        self.refuse(text, "truncated or damaged")
        empty = tmp_path / "empty"
        empty.mkdir()
        self.refuse(empty, "not an archive of a model")
        for number, edit in enumerate(
            (
                lambda name, content: None if name == "config.json" else content,
                lambda name, content: b"[]" if name == "config.json" else content,
                lambda name, content: b"{" if name == "config.json" else content,
            )
        ):
            path = repack(tiny_archive, tmp_path / f"{number}.tar.gz", edit)
            self.refuse(path, "not an archive of a model")

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
    def test_truncated_archives(self, tiny_archive: Path, tmp_path: Path, share: float) -> None:
        content = tiny_archive.read_bytes()
        path = tmp_path / "model.tar.gz"
        path.write_bytes(content[: int(share * len(content))])
        self.refuse(path, "truncated or damaged")

    def test_models_of_others(self, tiny_archive: Path, tmp_path: Path) -> None:
        for name in ("basic_classifier", "no_such_model", "os.system"):
            edit = change_config(partial(set_model_type, name))
            path = repack(tiny_archive, tmp_path / "other.tar.gz", edit)
            self.refuse(path, f"a model of type '{name}'")

    @pytest.mark.parametrize(
        "place, as_text",
        [
            (("dataset_reader",), False),
            (("validation_dataset_reader", "tokenizer"), False),
            (("validation_dataset_reader", "tokenizer"), True),
            (("model", "contextual_layer"), False),
            (("vocabulary",), False),
        ],
    )
    def test_functions_in_place_of_registered_classes(
        self, tiny_archive: Path, tmp_path: Path, place: Tuple[str, ...], as_text: bool
    ) -> None:
        victim = tmp_path / "victim"
        victim.write_text("here")

        def attack(config: Dict[str, Any]) -> None:
            *path, key = place
            for step in path:
                config = config[step]
            command = {"type": "os.remove", "path": str(victim)}
            config[key] = "os.getcwd" if as_text else command

        path = repack(tiny_archive, tmp_path / "evil.tar.gz", change_config(attack))
        self.refuse(path, "its config names 'os.")
        for load_one in (evaluate.load_archive, predict.load_archive):
            with pytest.raises(DataError, match="its config names 'os."):
                load_one(str(path))
        assert victim.exists()

    def test_without_a_gpu(self, tiny_archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
        with pytest.raises(DataError, match="there is no GPU 0"):
            load_span_predictor(tiny_archive, cuda_device=0)

    def test_more_than_a_model_can_be(
        self, tiny_archive: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(tar_files, "_MAX_BYTES", 10_000)
        self.refuse(tiny_archive, "when unpacked")

    def test_weights_that_hold_more_than_tensors(self, tiny_archive: Path, tmp_path: Path) -> None:
        state = torch.load(io.BytesIO(read_member(tiny_archive, "weights.th")))
        file = io.BytesIO()
        torch.save({**state, "evil": print}, file)
        edit = change_weights(file.getvalue())
        path = repack(tiny_archive, tmp_path / "evil.tar.gz", edit)
        self.refuse(path, "more than tensors")

    def test_weights_that_are_damaged_or_of_another_model(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        content = read_member(tiny_archive, "weights.th")
        path = repack(tiny_archive, tmp_path / "half.tar.gz", change_weights(content[:-500]))
        self.refuse(path, "cannot be loaded")
        edit = change_config(lambda config: config["model"].update(num_highway_layers=1))
        path = repack(tiny_archive, tmp_path / "other.tar.gz", edit)
        self.refuse(path, "cannot be loaded")
        path = repack(
            tiny_archive,
            tmp_path / "none.tar.gz",
            lambda name, content: None if name == "weights.th" else content,
        )
        self.refuse(path, "there is no")

    def test_words_without_vectors_are_refused(self, tiny_archive: Path, tmp_path: Path) -> None:
        def edit(name: str, content: bytes) -> bytes:
            return content + b"xyzzy\n" if name == "vocabulary/tokens.txt" else content

        path = repack(tiny_archive, tmp_path / "words.tar.gz", edit)
        self.refuse(path, "do not have a vector for each")

    def test_words_that_are_there_twice_are_refused(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        def edit(name: str, content: bytes) -> bytes:
            if name != "vocabulary/token_characters.txt":
                return content
            return content + content.splitlines(keepends=True)[1]

        path = repack(tiny_archive, tmp_path / "twice.tar.gz", edit)
        self.refuse(path, "its vocabulary 'token_characters' has a word twice")

    def test_vectors_that_are_not_there_are_refused(
        self, tiny_archive: Path, tmp_path: Path
    ) -> None:
        weights = torch.load(io.BytesIO(read_member(tiny_archive, "weights.th")))
        (rows,) = (tensor for name, tensor in weights.items() if name.endswith(".rows"))
        rows[1] = 999
        file = io.BytesIO()
        torch.save(weights, file)
        path = repack(tiny_archive, tmp_path / "rows.tar.gz", change_weights(file.getvalue()))
        self.refuse(path, "do not have a vector for each")
