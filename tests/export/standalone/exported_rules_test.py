from typing import Any, Dict

import pytest

from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.export.describe_text import describe_rules
from bidaf_plugin.export.standalone.exported_rules import ExportedRules
from tests.helpers import REAL_DATA, needs_real_data
from tests.runtime.treebank_rules_test import cut_by_spacy, make_chunks

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


@pytest.fixture(scope="module")
def description() -> Dict[str, Any]:
    return describe_rules()


@pytest.fixture(scope="module")
def rules(description: Dict[str, Any]) -> ExportedRules:
    """Without the shortcut for plain chunks, which has tests of its own."""
    rules = ExportedRules(description)
    rules._plain_chunks.cut = lambda chunk: None  # type: ignore[method-assign]
    return rules


class TestExportedRules:
    def test_cuts_like_spacy(self, rules: ExportedRules) -> None:
        chunks = make_chunks(5_000) + ODD_CHUNKS
        for chunk, expected in zip(chunks, cut_by_spacy(chunks), strict=True):
            assert rules.cut(chunk) == expected

    def test_special_cases_are_cut_like_spacy_wherever_they_stand(
        self, rules: ExportedRules, description: Dict[str, Any]
    ) -> None:
        cases = list(description["special_cases"])
        chunks = cases + [f"({case}" for case in cases] + [f"{case}," for case in cases]
        chunks += [f"x-{case}/{case}" for case in cases]
        for chunk, expected in zip(chunks, cut_by_spacy(chunks), strict=True):
            assert rules.cut(chunk) == expected

    @needs_real_data
    def test_cuts_all_of_squad_dev_like_spacy(self, rules: ExportedRules) -> None:
        assert REAL_DATA is not None
        chunks = set()
        for paragraph in read_squad_json(REAL_DATA / "squad" / "dev-v1.1.json.gz"):
            chunks.update(paragraph.passage.split())
            for question in paragraph.questions:
                chunks.update(question.text.split())
        for chunk, expected in zip(chunks, cut_by_spacy(list(chunks)), strict=True):
            assert rules.cut(chunk) == expected
