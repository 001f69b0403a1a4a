from typing import List

import pytest
from allennlp.data import Instance

from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph, Question
from bidaf_plugin.predictors.pieces import PieceCutter
from bidaf_plugin.runtime.passage_similarity import similarities
from bidaf_plugin.runtime.pieces import PieceSettings


def make_instance(num_words: int, question: str = "Who?") -> Instance:
    passage = " ".join(f"w{number}" for number in range(num_words))
    return BidafSquadReader().text_to_instance(question, passage, "q")


def make_cutter(stride: int, passage_weight: float = 0.0, piece_tokens: int = 10) -> PieceCutter:
    return PieceCutter(PieceSettings(10, stride, passage_weight, piece_tokens))


def words(instance: Instance) -> List[str]:
    return [token.text for token in instance["passage"].tokens]


class TestPieceCutter:
    @pytest.mark.parametrize(
        "num_words, expected",
        [(9, [0]), (10, [0]), (11, [0, 1]), (14, [0, 4]), (15, [0, 4, 5]), (22, [0, 4, 8, 12])],
    )
    def test_pieces_overlap_and_the_last_ends_with_the_passage(
        self, num_words: int, expected: List[int]
    ) -> None:
        instance = make_instance(num_words)
        pieces = make_cutter(stride=4).cut(3, [instance])
        assert [piece.first_token for piece in pieces] == expected
        assert {piece.question_index for piece in pieces} == {3}
        all_words = words(instance)
        for piece in pieces:
            first = piece.first_token
            assert words(piece.instance) == all_words[first : first + 10]
        if num_words <= 10:
            assert pieces[0].instance is instance

    def test_pieces_may_be_shorter_than_passages_that_stay_whole(self) -> None:
        cutter = make_cutter(stride=3, piece_tokens=4)
        assert len(cutter.cut(0, [make_instance(10)])) == 1
        pieces = cutter.cut(0, [make_instance(11)])
        assert [piece.first_token for piece in pieces] == [0, 3, 6, 7]
        assert {len(piece.instance["passage"]) for piece in pieces} == {4}

    def test_characters_are_those_of_the_whole_passage(self) -> None:
        instance = make_instance(25)
        for piece in make_cutter(stride=10).cut(0, [instance]):
            metadata = piece.instance["metadata"].metadata
            assert metadata["id"] == "q"
            for token in metadata["passage_tokens"]:
                assert metadata["passage"][token.idx : token.idx_end] == token.text

    def test_questions_on_a_passage_share_its_pieces(self) -> None:
        passage = " ".join(["word"] * 30)
        questions = [Question("a", "Who?", []), Question("b", "When?", [])]
        instances = BidafSquadReader().paragraphs_to_instances([Paragraph("", passage, questions)])
        cutter = make_cutter(stride=8)
        first, second = (cutter.cut(0, [instance]) for instance in instances)
        for piece, other in zip(first, second, strict=True):
            assert piece.instance["passage"] is other.instance["passage"]
            assert piece.instance["question"] is not other.instance["question"]

    def test_pieces_with_the_words_of_the_question_are_preferred(self) -> None:
        reader = BidafSquadReader()
        passages = ["The mill was old.", "Ada built the mill.", "Nothing."]
        instances = [reader.text_to_instance("Who built the mill?", text) for text in passages]
        pieces = make_cutter(stride=10, passage_weight=7.0).cut(0, instances)
        assert [piece.passage_index for piece in pieces] == [0, 1, 2]
        found = similarities(
            ["who", "built", "the", "mill", "?"], [words(piece.instance) for piece in pieces]
        )
        expected = [7.0 * (similarity - max(found)) for similarity in found]
        assert [piece.prior for piece in pieces] == pytest.approx(expected)
        assert pieces[1].prior == 0.0 > pieces[0].prior > pieces[2].prior
        for weight, some in ((0.0, instances), (7.0, instances[:1])):
            without = make_cutter(stride=10, passage_weight=weight).cut(0, some)
            assert {piece.prior for piece in without} == {0.0}
