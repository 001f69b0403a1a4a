from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import Token, Vocabulary

from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.data.token_indexers import ClozeWordsIndexer, word_indexer
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from tests.cloze_helpers import TINY_CLOZE

TOKENS = [
    Token("@entity", ent_type_="@@ENTITY1@@"),
    Token("met"),
    Token("@placeholder", ent_type_="@@PLACEHOLDER@@"),
    Token("Unseen"),
]


class TestClozeWordsIndexer:
    def test_all_names_are_in_the_vocabulary_whatever_the_counts(self) -> None:
        instances = list(BidafClozeReader().read(str(TINY_CLOZE)))
        vocab = Vocabulary.from_instances(instances, min_count={"tokens": 1000}, max_vocab_size=700)
        words = vocab.get_token_to_index_vocabulary("tokens")
        # Padding, unknown, the names, the placeholder.
        assert len(words) == 2 + 600 + 1
        assert "@@ENTITY0@@" in words and "@@ENTITY599@@" in words and "@@PLACEHOLDER@@" in words
        rows = ClozeWordsIndexer().entity_rows(vocab)
        assert len(set(rows.tolist())) == 600
        assert vocab.get_token_from_index(int(rows[17])) == "@@ENTITY17@@"

    def test_indices(self) -> None:
        vocab = Vocabulary(counter={"tokens": _counts(2, "met")})
        indexer = ClozeWordsIndexer(num_entities=2)
        indexed = indexer.tokens_to_indices(TOKENS, vocab)
        assert [vocab.get_token_from_index(index) for index in indexed["tokens"].tolist()] == [
            "@@ENTITY1@@",
            "met",
            "@@PLACEHOLDER@@",
            "@@UNKNOWN@@",
        ]
        padded = indexer.as_padded_tensor_dict(indexed, {"tokens": 6})["tokens"]
        assert padded.dtype == torch.long
        assert padded.tolist() == [*indexed["tokens"].tolist(), 0, 0]

    def test_words_are_not_remembered_for_ever(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(word_indexer, "_MAX_WORDS", 10)
        vocab = Vocabulary(counter={"tokens": _counts(2, "met")})
        indexer = ClozeWordsIndexer(num_entities=2)
        expected = indexer.tokens_to_indices(TOKENS, vocab)["tokens"].tolist()
        rows = indexer.entity_rows(vocab).tolist()
        for number in range(100):
            tokens = [*TOKENS, Token(f"new{number}")]
            indices = indexer.tokens_to_indices(tokens, vocab)["tokens"].tolist()
            assert indices[:4] == expected and indexer.entity_rows(vocab).tolist() == rows
            # Those that were there, and those of one text.
            assert len(indexer._lexicon) < 10 + len(tokens)

    def test_a_changed_vocabulary_is_noticed(self) -> None:
        vocab = Vocabulary(counter={"tokens": _counts(2, "met")})
        indexer = ClozeWordsIndexer(num_entities=2)
        unknown = indexer.tokens_to_indices(TOKENS, vocab)["tokens"][3]
        added = vocab.add_token_to_namespace("unseen", "tokens")
        assert indexer.tokens_to_indices(TOKENS, vocab)["tokens"][3] == added != unknown

    def test_another_vocabulary_of_the_same_size_is_noticed(self) -> None:
        indexer = ClozeWordsIndexer(num_entities=2)

        def entry_of_met(*words: str) -> str:
            # Python likes to give it the address of the one before, which is gone.
            vocab = Vocabulary(counter={"tokens": _counts(2, *words)})
            _, index, *_ = indexer.tokens_to_indices(TOKENS, vocab)["tokens"].tolist()
            return vocab.get_token_from_index(index)

        for _ in range(5):
            assert entry_of_met("met", "saw") == "met"
            assert entry_of_met("saw", "met") == "met"
            assert entry_of_met("saw", "won") == "@@UNKNOWN@@"

    def test_a_vocabulary_without_the_names_is_refused(self) -> None:
        vocab = Vocabulary(counter={"tokens": _counts(2, "met")})
        with pytest.raises(ConfigurationError, match="lacks '@@ENTITY2@@'.*num_entities"):
            ClozeWordsIndexer(num_entities=3).tokens_to_indices(TOKENS, vocab)
        with pytest.raises(ConfigurationError, match="num_entities"):
            ClozeWordsIndexer(num_entities=0)

    def test_entities_never_take_rows_of_word_vectors(self, tmp_path: Path) -> None:
        # Even if somebody trained word vectors on this very data.
        vectors = tmp_path / "vectors.txt"
        names = ["@entity", "@placeholder", *(f"@entity{number}" for number in range(20)), "the"]
        vectors.write_text("".join(f"{name} 0.5 0.5\n" for name in names))
        instances = list(BidafClozeReader().read(str(TINY_CLOZE)))
        vocab = Vocabulary.from_instances(instances, pretrained_files={"tokens": str(vectors)})
        embedder = FixedAndTrainedEmbedder(vocab, 2, str(vectors))
        rows = [int(row) for row in ClozeWordsIndexer().entity_rows(vocab)]
        rows.append(vocab.get_token_index("@@PLACEHOLDER@@"))
        embedded = embedder(torch.tensor([rows]))
        assert not (embedded == 0.5).any()
        assert (embedded.sum() * 1.0).requires_grad
        the = embedder(torch.tensor([[vocab.get_token_index("the")]]))
        assert the.tolist() == [[[0.5, 0.5]]]


def _counts(num_entities: int, *words: str) -> dict[str, int]:
    names = [f"@@ENTITY{number}@@" for number in range(num_entities)]
    return dict.fromkeys([*names, "@@PLACEHOLDER@@", *words], 1)
