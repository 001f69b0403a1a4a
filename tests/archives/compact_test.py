import json
import tarfile
from pathlib import Path

import pytest
import torch

from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.archives.compact import compact_archive
from bidaf_plugin.common.errors import DataError

QUESTION = ("Who planted the orchard?", "The orchard was planted by Ada Orn, not by Bo.")


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
