from collections import defaultdict
from typing import Any, Dict, List

import pytest
import torch
from allennlp.data import Token, TokenIndexer, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer

from bidaf_plugin.data.fields import CompactTextField, QuestionTextField, SharedTextField
from bidaf_plugin.data.token_indexers import WordCharactersIndexer, WordIdIndexer
from bidaf_plugin.data.tokenizers import PtbTokenizer

TEXTS = ["A rose is a rose.", "Is it?"]


def make_indexers(kind: str) -> Dict[str, TokenIndexer]:
    own = {"tokens": WordIdIndexer(), "characters": WordCharactersIndexer(max_word_length=5)}
    allennlp_s = {
        "tokens": SingleIdTokenIndexer(),
        "characters": TokenCharactersIndexer("token_characters", min_padding_length=5),
    }
    kinds: Dict[str, Any] = {
        "own": own,
        "allennlp": allennlp_s,
        "mixed": {**own, "tokens": allennlp_s["tokens"]},
    }
    return kinds[kind]


def make_batch(fields: List[TextField]) -> Dict[str, Dict[str, torch.Tensor]]:
    """What AllenNLP's `Batch` does with a field."""
    all_lengths = [field.get_padding_lengths() for field in fields]
    lengths = {key: max(lengths[key] for lengths in all_lengths) for key in all_lengths[0]}
    return fields[0].batch_tensors([field.as_tensor(lengths) for field in fields])


@pytest.mark.parametrize("kind", ["own", "allennlp", "mixed"])
@pytest.mark.parametrize("compact", [True, False])
class TestCompactTextField:
    def make_fields(self, kind: str, compact: bool) -> List[CompactTextField]:
        tokenizer = PtbTokenizer()
        all_tokens: Any = (
            tokenizer.batch_tokenize(TEXTS)
            if compact
            else [tokenizer.tokenize(text) for text in TEXTS]
        )
        return [CompactTextField(tokens, make_indexers(kind)) for tokens in all_tokens]

    def test_counts_and_batches_like_a_text_field(self, kind: str, compact: bool) -> None:
        fields = self.make_fields(kind, compact)
        tokenizer = PtbTokenizer()
        plain = [TextField(tokenizer.tokenize(t), make_indexers("allennlp")) for t in TEXTS]
        counts: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        expected: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for field, plain_field in zip(fields, plain, strict=True):
            field.count_vocab_items(counts)
            plain_field.count_vocab_items(expected)
            assert len(field) == field.sequence_length() == len(plain_field)
            assert field.human_readable_repr() == plain_field.human_readable_repr()
            assert str(field.tokens) == str(plain_field.tokens)
        assert counts == expected
        assert list(counts["tokens"]) == list(expected["tokens"])

        vocab = Vocabulary(counts, min_count={"tokens": 2})
        for field in [*fields, *plain]:
            field.index(vocab)
        batch, expected_batch = make_batch(fields), make_batch(plain)
        assert torch.equal(batch["tokens"]["tokens"], expected_batch["tokens"]["tokens"])
        assert torch.equal(
            batch["characters"]["token_characters"],
            expected_batch["characters"]["token_characters"],
        )

    def test_a_duplicate_is_indexed_like_the_original(self, kind: str, compact: bool) -> None:
        field, _ = self.make_fields(kind, compact)
        field.index(Vocabulary(counter={"tokens": {"rose": 1}, "token_characters": {"r": 1}}))
        duplicate = field.duplicate()
        lengths = field.get_padding_lengths()
        assert duplicate.get_padding_lengths() == lengths
        for name, tensors in field.as_tensor(lengths).items():
            for key, tensor in tensors.items():
                assert torch.equal(tensor, duplicate.as_tensor(lengths)[name][key])

    def test_must_be_indexed_before_it_is_a_tensor(self, kind: str, compact: bool) -> None:
        field, _ = self.make_fields(kind, compact)
        with pytest.raises(Exception, match="index"):
            field.get_padding_lengths()


class CountingIndexer(SingleIdTokenIndexer):
    num_calls = 0

    def tokens_to_indices(self, tokens, vocabulary):  # type: ignore[no-untyped-def]
        CountingIndexer.num_calls += 1
        return super().tokens_to_indices(tokens, vocabulary)


class TestSharedTextField:
    def setup_method(self) -> None:
        CountingIndexer.num_calls = 0
        self.indexers = {"tokens": CountingIndexer()}
        self.tokens = [Token(word) for word in ["a", "rose", "is", "a", "rose"]]

    def test_counts_once_per_holder_like_a_text_field(self) -> None:
        shared = SharedTextField(self.tokens, self.indexers)
        other = SharedTextField([Token("is")], self.indexers)
        plain = TextField(self.tokens, self.indexers)
        counts: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for field in (shared, shared, other, shared):
            field.count_vocab_items(counts)
        expected: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
        for field in (plain, plain, other, plain):
            field.count_vocab_items(expected)
        assert counts == expected
        assert counts["tokens"]["rose"] == 3 * 2

    def test_is_indexed_once_for_a_vocabulary(self) -> None:
        field = SharedTextField(self.tokens, self.indexers)
        vocab = Vocabulary(counter={"tokens": {"rose": 1}})
        field.index(vocab)
        field.index(vocab)
        assert CountingIndexer.num_calls == 1
        field.index(Vocabulary(counter={"tokens": {"is": 1, "rose": 1}}))
        assert CountingIndexer.num_calls == 2

    def test_tensors_are_made_once_for_a_length_and_a_vocabulary(self) -> None:
        field = SharedTextField(self.tokens, self.indexers)
        field.index(Vocabulary(counter={"tokens": {"rose": 1}}))
        lengths = field.get_padding_lengths()
        tensors = field.as_tensor(lengths)
        assert field.as_tensor(dict(lengths)) is tensors
        longer = {name: length + 2 for name, length in lengths.items()}
        assert field.as_tensor(longer)["tokens"]["tokens"].shape == (len(self.tokens) + 2,)
        other = SharedTextField(self.tokens[:2], self.indexers)
        other.index(Vocabulary(counter={"tokens": {"rose": 1}}))
        assert len(other.as_tensor(other.get_padding_lengths())["tokens"]["tokens"]) == 2
        before = field.as_tensor(lengths)["tokens"]["tokens"].tolist()
        field.index(Vocabulary(counter={"tokens": {"is": 2, "rose": 1}}))
        assert field.as_tensor(lengths)["tokens"]["tokens"].tolist() != before


def test_words_of_questions_are_counted_apart_too() -> None:
    tokens = PtbTokenizer().tokenize(TEXTS[0])
    indexers = make_indexers("own")
    counts: Dict[str, Dict[str, int]] = defaultdict(lambda: defaultdict(int))
    QuestionTextField(tokens, indexers).count_vocab_items(counts)
    CompactTextField(PtbTokenizer().tokenize("rose"), indexers).count_vocab_items(counts)
    assert counts["tokens"]["rose"] == 2 + 1
    assert counts["question_tokens"]["rose"] == 2
    assert set(counts) == {"tokens", "token_characters", "question_tokens"}
