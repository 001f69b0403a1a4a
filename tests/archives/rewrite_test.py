import json
import tarfile
from pathlib import Path
from typing import Any, Dict

import pytest
import torch

from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.archives.rewrite import compact_archive, divide_logits
from bidaf_plugin.common.errors import DataError

QUESTION = ("Who built the mill?", "Ada Orn built the mill in 1871, not Bo.")


class TestCompactArchive:
    def test_same_answers_from_half_the_bytes(self, tiny_archive: Path, tmp_path: Path) -> None:
        output = str(tmp_path / "compact.tar.gz")
        num_words = compact_archive(str(tiny_archive), output)
        whole, compact = (load_span_predictor(path) for path in (tiny_archive, output))
        assert num_words == whole._model.vocab.get_vocab_size("tokens")
        old, new = whole.predict(*QUESTION), compact.predict(*QUESTION)
        assert new["best_span"] == old["best_span"]
        assert new["confidence"] == pytest.approx(old["confidence"], rel=1e-2)
        # Kept small, used in full.
        assert all(p.dtype == torch.float32 for p in compact._model.parameters())
        with tarfile.open(output) as tar:
            weights = torch.load(tar.extractfile("weights.th"))  # type: ignore[arg-type]
        floats = [tensor for tensor in weights.values() if tensor.is_floating_point()]
        assert floats and all(tensor.dtype == torch.float16 for tensor in floats)

    def test_no_paths_of_the_training_data(self, tiny_archive: Path, tmp_path: Path) -> None:
        output = tmp_path / "compact.tar.gz"
        compact_archive(str(tiny_archive), str(output))
        with tarfile.open(output) as tar:
            config = json.load(tar.extractfile("config.json"))  # type: ignore[arg-type]
            assert all(member.uid == member.mtime == 0 and not member.uname for member in tar)
        assert "train_data_path" not in config and ".json" not in json.dumps(config)

    def test_rare_words_become_unknown(self, tiny_archive: Path, tmp_path: Path) -> None:
        output = str(tmp_path / "compact.tar.gz")
        assert compact_archive(str(tiny_archive), output, max_words=10) == 10
        whole, compact = (load_span_predictor(path)._model for path in (tiny_archive, output))
        assert compact.vocab.get_vocab_size("tokens") == 10
        embedders = [model._text_field_embedder.token_embedder_tokens for model in (whole, compact)]
        vectors = [embedder(torch.arange(10)).detach() for embedder in embedders]
        torch.testing.assert_close(vectors[1], vectors[0].half().float())

    def test_new_words_from_a_file_of_vectors(self, tiny_archive: Path, tmp_path: Path) -> None:
        vectors = tmp_path / "vectors.txt"
        vectors.write_text("zebra 1 2 3 4 5 6\nquagga 6 5 4 3 2 1\n")
        output = str(tmp_path / "compact.tar.gz")
        num_words = load_span_predictor(tiny_archive)._model.vocab.get_vocab_size("tokens")
        total = compact_archive(str(tiny_archive), output, num_words + 1, str(vectors))
        assert total == num_words + 1
        model = load_span_predictor(output)._model
        assert model.vocab.get_token_index("quagga") == model.vocab.get_token_index("@@UNKNOWN@@")
        index = torch.tensor([model.vocab.get_token_index("zebra")])
        (vector,) = model._text_field_embedder.token_embedder_tokens(index)
        assert vector.tolist() == [1, 2, 3, 4, 5, 6]

    def test_bad_input(self, tiny_archive: Path, tmp_path: Path) -> None:
        output = tmp_path / "compact.tar.gz"
        with pytest.raises(DataError, match="2 or more, not 1"):
            compact_archive(str(tiny_archive), str(output), 1)
        with pytest.raises(DataError, match="no such file"):
            compact_archive(str(tmp_path / "no.tar.gz"), str(output))
        assert not output.exists()


def contents(path: Path) -> Dict[str, Any]:
    with tarfile.open(path) as archive:
        return {
            member.name: file.read() if (file := archive.extractfile(member)) else member.type
            for member in archive
        }


def make_archive(folder: Path, **files: str) -> Path:
    (folder / "vocabulary").mkdir(parents=True)
    (folder / "vocabulary" / "tokens.txt").write_text("a\nb\n")
    path = folder / "model.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            (folder / name).write_text(text)
            archive.add(folder / name, arcname=name.replace("_", "."))
        archive.add(folder / "vocabulary", arcname="vocabulary")
    return path


CONFIG = '{"model": {"output_layer": {"temperature": 1.5}}, "b": "é"}'


class TestDivideLogits:
    def test_the_model_has_the_temperature(self, tiny_archive: Path, tmp_path: Path) -> None:
        new = tmp_path / "new.tar.gz"
        assert divide_logits(str(tiny_archive), str(new), 2.0) == 2.0
        before, after = (
            load_span_predictor(path).predict(*QUESTION) for path in (tiny_archive, new)
        )
        assert after["best_span"] == before["best_span"]
        assert after["confidence"] < before["confidence"]
        # A second time, on top of the first.
        assert divide_logits(str(new), str(new), 0.5) == 1.0
        again = load_span_predictor(new).predict(*QUESTION)
        assert again["confidence"] == pytest.approx(before["confidence"])

    def test_nothing_else_changes(self, tiny_archive: Path, tmp_path: Path) -> None:
        new = tmp_path / "new.tar.gz"
        divide_logits(str(tiny_archive), str(new), 2.0)
        before, after = contents(tiny_archive), contents(new)
        configs = [json.loads(item.pop("config.json")) for item in (before, after)]
        assert after == before
        assert configs[1]["model"]["output_layer"].pop("temperature") == 2.0
        assert configs[0] == configs[1]
        with tarfile.open(tiny_archive) as old_tar, tarfile.open(new) as new_tar:
            assert [(m.name, m.mode, m.mtime) for m in old_tar] == [
                (m.name, m.mode, m.mtime) for m in new_tar
            ]

    def test_a_model_without_output_layer_is_refused(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, config_json='{"model": {"type": "basic_classifier"}}')
        with pytest.raises(DataError, match="no 'model.output_layer'"):
            divide_logits(str(archive), str(tmp_path / "new.tar.gz"), 2.0)
        assert not (tmp_path / "new.tar.gz").exists()

    @pytest.mark.parametrize("in_place", [False, True])
    def test_only_the_config_changes(self, tmp_path: Path, in_place: bool) -> None:
        archive = make_archive(tmp_path, config_json=CONFIG, weights_th="\0\1" * 5000)
        before = contents(archive)
        new = archive if in_place else tmp_path / "new.tar.gz"
        assert divide_logits(str(archive), str(new), 2.0) == 3.0
        after = contents(new)
        assert list(after) == list(before)
        config = json.loads(after.pop("config.json"))
        assert config == {"model": {"output_layer": {"temperature": 3.0}}, "b": "é"}
        before.pop("config.json")
        assert after == before

    def test_an_archive_without_config_is_refused(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, weights_th="x")
        with pytest.raises(DataError, match="there is no config.json in the archive"):
            divide_logits(str(archive), str(tmp_path / "new.tar.gz"), 2.0)
        assert not list(tmp_path.glob("new*"))

    def test_a_truncated_archive_is_refused_and_kept(self, tmp_path: Path) -> None:
        archive = make_archive(tmp_path, config_json=CONFIG, weights_th="xyz" * 1000)
        half = archive.read_bytes()[: archive.stat().st_size // 2]
        archive.write_bytes(half)
        with pytest.raises(DataError, match="model.tar.gz: the archive is truncated or damaged"):
            divide_logits(str(archive), str(archive), 2.0)
        assert archive.read_bytes() == half
        assert not list(tmp_path.glob("*.tmp"))
