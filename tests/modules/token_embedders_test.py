from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary

from bidaf_plugin.modules import FixedAndTrainedEmbedder


@pytest.fixture
def vectors(tmp_path: Path) -> str:
    path = tmp_path / "vectors.txt"
    path.write_text("cat 1 2\ndog 3 4\nowl 5 6\n", encoding="utf-8")
    return str(path)


class TestFixedAndTrainedEmbedder:
    def setup_method(self) -> None:
        torch.manual_seed(0)
        self.vocab = Vocabulary(counter={"tokens": {"cat": 3, "zork": 2, "dog": 1}})

    def ids(self, *words: str) -> torch.Tensor:
        return torch.tensor([[self.vocab.get_token_index(word) for word in words]])

    def test_words_of_the_file_are_fixed_and_the_others_trained(self, vectors: str) -> None:
        embedder = FixedAndTrainedEmbedder(self.vocab, 2, vectors)
        padding = torch.zeros(1, 1, dtype=torch.long)
        embedded = embedder(torch.cat([self.ids("cat", "zork", "dog", "new"), padding], dim=1))
        assert embedded[0, 0].tolist() == [1, 2]
        assert embedded[0, 2].tolist() == [3, 4]
        assert embedded[0, 4].tolist() == [0, 0]
        embedded.sum().backward()
        # The unknown word and "zork" are all there is to train.
        assert [name for name, _ in embedder.named_parameters()] == ["trained"]
        torch.testing.assert_close(embedder.trained.grad, torch.ones(2, 2))

    def test_words_of_a_namespace_are_trained_from_their_vector_in_the_file(
        self, vectors: str
    ) -> None:
        vocab = Vocabulary(
            counter={
                "tokens": {"cat": 3, "zork": 2, "dog": 1},
                "question_tokens": {"dog": 1, "zork": 1},
            }
        )
        embedder = FixedAndTrainedEmbedder(vocab, 2, vectors, tuned_namespace="question_tokens")
        tokens = torch.tensor([[vocab.get_token_index(word) for word in ("cat", "dog", "zork")]])
        embedded = embedder(tokens)
        assert embedded[0, :2].tolist() == [[1, 2], [3, 4]]
        embedded.sum().backward()
        # The unknown word, "zork" and "dog".
        gradient = embedder.trained.grad
        assert gradient is not None and gradient.sum(dim=1).tolist() == [0, 2, 2]
        # What was learned is loaded without the file and without the namespace.
        with torch.no_grad():
            embedder.trained.add_(1)
        loaded = FixedAndTrainedEmbedder(self.vocab, 2)
        loaded.load_state_dict(embedder.state_dict())
        assert loaded(tokens)[0, :2].tolist() == [[1, 2], [4, 5]]

    def test_without_a_file_everything_but_padding_is_trained(self) -> None:
        embedder = FixedAndTrainedEmbedder(self.vocab, 2)
        assert embedder.trained.shape == (4, 2)
        assert not embedder(torch.zeros(1, 1, dtype=torch.long)).any()

    def test_weights_load_without_the_file(self, vectors: str) -> None:
        embedder = FixedAndTrainedEmbedder(self.vocab, 2, vectors)
        loaded = FixedAndTrainedEmbedder(self.vocab, 2)
        loaded.load_state_dict(embedder.state_dict())
        tokens = self.ids("cat", "zork", "dog", "new")
        assert torch.equal(loaded(tokens), embedder(tokens))
        assert [name for name, _ in loaded.named_parameters()] == ["trained"]

    def test_new_words_get_their_vector_or_that_of_the_unknown_word(self, vectors: str) -> None:
        embedder = FixedAndTrainedEmbedder(self.vocab, 2, vectors)
        before = embedder(self.ids("cat", "zork", "dog", "unknown"))
        self.vocab.add_tokens_to_namespace(["owl", "blip"])
        embedder.extend_vocab(self.vocab, extension_pretrained_file=vectors)
        embedded = embedder(self.ids("owl", "blip"))
        assert embedded[0, 0].tolist() == [5, 6]
        assert torch.equal(embedded[0, 1], before[0, 3])
        assert torch.equal(embedder(self.ids("cat", "zork", "dog", "unknown")), before)

    def test_a_file_of_another_size_is_refused_with_both_numbers(self, vectors: str) -> None:
        with pytest.raises(ConfigurationError, match="line 1.*2 numbers.*'embedding_dim' is 7"):
            FixedAndTrainedEmbedder(self.vocab, 7, vectors)

    def test_words_with_blanks_are_passed_over(self, tmp_path: Path) -> None:
        path = tmp_path / "vectors.txt"
        path.write_text("dog 3 4\ncat a@b.c 7 8\ncat 1 2\n")
        embedder = FixedAndTrainedEmbedder(self.vocab, 2, str(path))
        assert embedder(self.ids("cat", "dog")).tolist() == [[[1, 2], [3, 4]]]

    def test_a_file_of_another_kind_is_refused(self, tmp_path: Path) -> None:
        path = tmp_path / "x.txt"
        path.write_text("cat is an animal\n")
        with pytest.raises(ConfigurationError, match="x.txt, line 1: not a row of word vectors"):
            FixedAndTrainedEmbedder(self.vocab, 3, str(path))
