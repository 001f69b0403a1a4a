import pytest

from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.export.describe_text import describe_rules
from bidaf_plugin.export.standalone.exported_rules import ExportedRules
from bidaf_plugin.export.standalone.exported_tokenizer import ExportedTokenizer
from tests.export.standalone.exported_rules_test import ODD_CHUNKS

TEXTS = [
    "It didn't  rain in 1641-1679. \n\t a\u00a0b",
    " ".join(ODD_CHUNKS),
    'It was 日本語 – naïve 😀text (1.5°C), the "North" Slope’s O\'Brien.[1]',
    "(😀a-b" * 60,
    "",
]


class TestExportedTokenizer:
    @pytest.mark.parametrize(
        "split_compounds, whole_compounds", [(True, False), (False, False), (False, True)]
    )
    def test_gives_the_tokens_of_the_tokenizer(
        self, split_compounds: bool, whole_compounds: bool
    ) -> None:
        rules = ExportedRules(describe_rules())
        exported = ExportedTokenizer(rules, split_compounds, whole_compounds)
        tokenizer = PtbTokenizer(split_compounds, whole_compounds=whole_compounds)
        for text in TEXTS:
            tokens = tokenizer.tokenize(text)
            words, starts, ends = exported.tokenize(text)
            assert words == [token.text for token in tokens]
            assert starts == [token.idx for token in tokens]
            assert ends == [token.idx_end for token in tokens]

    def test_remembers_no_long_words(self) -> None:
        exported = ExportedTokenizer(
            ExportedRules(describe_rules()), split_compounds=True, whole_compounds=False
        )
        for character in "abc":
            exported.tokenize(f"Ada {character * 100_000}")
        assert list(exported._words_of_chunk) == ["Ada"]
