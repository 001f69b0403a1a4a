from typing import List

import pytest
import torch
from allennlp.data import TextFieldTensors

from bidaf_plugin.fast import distinct_words
from bidaf_plugin.fast.distinct_words import find_distinct_rows, find_distinct_words


class TestFindDistinctRows:
    def test_rows_of_one_kind_share_a_representative(self) -> None:
        rows = torch.tensor([[1, 2], [2, 1], [1, 2], [0, 0], [2, 1]])
        representatives, kinds = find_distinct_rows(rows)
        assert len(representatives) == 3
        assert torch.equal(rows[representatives][kinds], rows)

    def test_many_random_rows(self) -> None:
        torch.manual_seed(0)
        rows = torch.randint(0, 3, (5000, 7))
        representatives, kinds = find_distinct_rows(rows)
        assert len(representatives) == len(rows.unique(dim=0))
        assert torch.equal(rows[representatives][kinds], rows)

    def test_rows_that_are_taken_for_each_other_are_noticed(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # With this multiplier all hashes are equal.
        monkeypatch.setattr(distinct_words, "_MULTIPLIER", 0)
        rows = torch.tensor([[1, 2], [2, 1], [1, 2]])
        representatives, kinds = find_distinct_rows(rows)
        assert torch.equal(rows[representatives][kinds], rows)


class TestFindDistinctWords:
    def test_words_that_differ_in_their_characters_only_are_distinct(self) -> None:
        tokens = torch.tensor([[1, 1, 2], [2, 1, 0]])
        characters = torch.tensor([[[7, 8], [7, 9], [5, 0]], [[5, 0], [7, 8], [0, 0]]])
        text = {"tokens": {"tokens": tokens}, "characters": {"ids": characters}}
        found = find_distinct_words([text])
        assert found is not None
        words, (positions,) = found
        # There are always a multiple of 32.
        assert words["tokens"]["tokens"].shape == (1, 32)
        assert len(words["tokens"]["tokens"][0, :4].unique()) == 3
        assert torch.equal(words["tokens"]["tokens"][0][positions], tokens)
        assert torch.equal(words["characters"]["ids"][0][positions], characters)

    def test_words_of_several_texts_are_found_together(self) -> None:
        torch.manual_seed(0)
        texts: List[TextFieldTensors] = [
            {
                "tokens": {"tokens": torch.randint(0, 3, shape)},
                "characters": {"ids": torch.randint(0, 2, (*shape, 2))},
            }
            for shape in ((3, 2), (3, 7))
        ]
        found = find_distinct_words(texts)
        assert found is not None
        words, positions = found
        assert words["tokens"]["tokens"].size(1) == 32
        for text, positions_of_text in zip(texts, positions, strict=True):
            for indexer, name in (("tokens", "tokens"), ("characters", "ids")):
                assert torch.equal(words[indexer][name][0][positions_of_text], text[indexer][name])

    def test_what_is_not_ids_of_words_is_left_alone(self) -> None:
        tokens = torch.tensor([[1, 1, 2]])
        assert find_distinct_words([{"a": {"tokens": tokens, "mask": torch.ones(1, 5)}}]) is None
        assert find_distinct_words([{"a": {"tokens": tokens, "other": tokens[:, :2]}}]) is None
        of_two_widths: List[TextFieldTensors] = [
            {"a": {"ids": torch.zeros(1, 2, width, dtype=torch.long)}} for width in (3, 4)
        ]
        assert find_distinct_words(of_two_widths) is None
