import random
from typing import List

import pytest
import spacy

from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.data.tokenizers.treebank_rules import load_rules
from bidaf_plugin.runtime.treebank_rules import TreebankRules
from tests.helpers import REAL_DATA, needs_real_data

WORDS = [
    *["word", "Word", "NASA", "McD", "a", "I", "É", "café", "US", "km", "m", "in", "em", "cause"],
    *["Mr", "St", "etc", "it", "don", "o", "p", "日本", "ß", "Ünal", "ДНК", "s", "th", "No", "Jan"],
    *["cannot", "dont", "Id", "am", "Ph", "C", "D", "o'clock", "Inc.", "e.g.", ":)", "US$"],
    *["1990", "5", "8", "33", "1,000", "3.5", "1990s", "1st", "MP3", "5km"],
]


ODD_CHUNKS = [
    *[
        "https://example.org/a?b=c,",
        "(www.example.org)",
        "ada@example.org:",
        "x:-)",
        "(:-)",
        "...!",
    ],
    *[
        "((",
        "'",
        "''",
        "don't-you've",
        "I'm.",
        "can't've",
        "Mr.-Mrs.",
        "$5.2m",
        "10km²",
        "3--4",
        "…",
    ],
    *["e.g.,", "i.e.:", "C++", "#1", "a.m./p.m.", "8a.m.", "10pm!", "'tis", "'Cause", "o'clock's"],
    *["日本語。", "«guillemets»", "😀😀", "a" * 500, "-" * 40, "(" * 30 + ")" * 30, "x_y", "1/2/3"],
]


@pytest.fixture(scope="module", params=[True, False], ids=["with shortcut", "rules alone"])
def rules(request: pytest.FixtureRequest) -> TreebankRules:
    """With and without the shortcut for plain chunks."""
    rules = TreebankRules(load_rules())
    if not request.param:
        rules._plain_chunks.cut = lambda chunk: None  # type: ignore[method-assign]
    return rules


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
        chunks = make_chunks(5_000) + ODD_CHUNKS
        for chunk, expected in zip(chunks, cut_by_spacy(chunks), strict=True):
            assert rules.cut(chunk) == expected

    def test_special_cases_are_cut_like_spacy_wherever_they_stand(
        self, rules: TreebankRules
    ) -> None:
        cases = list(load_rules()["special_cases"])
        chunks = cases + [f"({case}" for case in cases] + [f"{case}," for case in cases]
        chunks += [f"x-{case}/{case}" for case in cases]
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
