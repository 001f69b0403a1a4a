import random
from typing import List

import pytest
import spacy

from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.data.tokenizers.treebank_rules import (
    TreebankRules,
    find_special_cases,
    forgotten_words,
    load_spacy_tokenizer,
)
from tests.helpers import REAL_DATA, needs_real_data

WORDS = [
    *["word", "Word", "NASA", "McD", "a", "I", "É", "café", "US", "km", "m", "in", "em", "cause"],
    *["Mr", "St", "etc", "it", "don", "o", "p", "日本", "ß", "Ünal", "ДНК", "s", "th", "No", "Jan"],
    *["cannot", "dont", "Id", "am", "Ph", "C", "D", "o'clock", "Inc.", "e.g.", ":)", "US$"],
    *["1990", "5", "8", "33", "1,000", "3.5", "1990s", "1st", "MP3", "5km"],
]


@pytest.fixture(scope="module")
def rules() -> TreebankRules:
    return TreebankRules()


def cut_by_spacy(chunks: List[str]) -> List[List[str]]:
    tokenizer = spacy.blank("en").tokenizer
    return [[token.text for token in tokenizer(chunk)] for chunk in chunks]


def make_chunks(number: int) -> List[str]:
    """Words, numbers and marks, put together at random."""
    generator = random.Random(0)
    draw = generator.choice
    chunks = []
    for _ in range(number):
        chunk = "".join(draw("\"'([“‘$£€") for _ in range(draw([0, 0, 0, 1, 2]))) + draw(WORDS)
        while generator.random() < 0.3:
            chunk += draw("-–—/.") + draw(WORDS)
        chunk += draw(["", "", "'s", "’s", "'"])
        chunk += "".join(draw(",;:?!)]\"'”’.%") for _ in range(draw([0, 1, 1, 2, 3])))
        chunks.append(chunk)
    return chunks


class TestTreebankRules:
    def test_cuts_like_spacy(self, rules: TreebankRules) -> None:
        chunks = make_chunks(5_000)
        for chunk, expected in zip(chunks, cut_by_spacy(chunks), strict=True):
            assert rules.cut(chunk) == expected

    def test_special_cases_are_spacy_s(self, rules: TreebankRules) -> None:
        special_cases = find_special_cases(load_spacy_tokenizer())
        chunks = [case for case in sorted(special_cases) if case.split() == [case]]
        for chunk, expected in zip(chunks, cut_by_spacy(chunks), strict=True):
            assert rules.cut(chunk) == expected

    @needs_real_data
    def test_cuts_all_of_squad_dev_like_spacy(self, rules: TreebankRules) -> None:
        assert REAL_DATA is not None
        chunks = set()
        for paragraph in read_squad_json(REAL_DATA / "squad" / "dev-v1.1.json.gz"):
            chunks.update(paragraph.passage.split())
            for question in paragraph.questions:
                chunks.update(question.text.split())
        for chunk, expected in zip(chunks, cut_by_spacy(list(chunks)), strict=True):
            assert rules.cut(chunk) == expected


def test_forgotten_words() -> None:
    tokenizer = load_spacy_tokenizer()
    rules = TreebankRules()
    chunks = ["(foo@bar.com)'s", "e.g.", ":)x", "don't…", "a😀b.c"]
    expected = [rules.cut(chunk) for chunk in chunks]
    num_words = len(tokenizer.vocab.strings)
    for number in range(3):
        with forgotten_words():
            assert [rules.cut(chunk) for chunk in chunks] == expected
            rules.cut(f"(new{number}.).word{number}@x")
    assert len(tokenizer.vocab.strings) == num_words
    assert [rules.cut(chunk) for chunk in chunks] == expected
