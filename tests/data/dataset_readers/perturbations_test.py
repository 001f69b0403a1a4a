from pathlib import Path
from typing import List

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers import BidafSquadReader, Perturbation
from bidaf_plugin.data.dataset_readers.perturbations import draw_questions, perturb, perturb_some
from bidaf_plugin.data.dataset_readers.squad_json import (
    GoldAnswer,
    Paragraph,
    Question,
    read_squad_json,
)
from tests.helpers import FIXTURES, SAMPLE_V2, TINY_SQUAD

SAMPLE = FIXTURES / "squad" / "sample_dev.json"
MILL = "The old mill by the river was built by Ada Orn in 1871. It burned down twice."


def mill(text: str = "Who built the old mill?") -> Paragraph:
    answer = GoldAnswer("Ada Orn", MILL.index("Ada Orn"))
    return Paragraph("mill", MILL, [Question("1", text, [answer])], article=0)


def other(passage: str, article: int = 1) -> Paragraph:
    return Paragraph("other", passage, [], article)


def questions(paragraphs: List[Paragraph]) -> List[Question]:
    return [question for paragraph in paragraphs for question in paragraph.questions]


class TestPerturbations:
    @pytest.mark.parametrize("kind", sorted(Perturbation.list_available()))
    @pytest.mark.parametrize("data", [SAMPLE, SAMPLE_V2])
    def test_all_questions_stay_and_answers_are_where_they_are_said_to_be(
        self, kind: str, data: Path
    ) -> None:
        before = list(read_squad_json(data))
        changed = list(perturb(before, kind))
        old, new = (
            {question.id: question for question in questions(paragraphs)}
            for paragraphs in (before, changed)
        )
        assert list(new) == list(old)
        assert (changed == before) == (kind == "unchanged")
        for paragraph in changed:
            for question in paragraph.questions:
                same = old[question.id]
                assert question.is_impossible == same.is_impossible
                assert [a.text.lower() for a in question.answers] == [
                    a.text.lower() for a in same.answers
                ]
                for answer in question.answers:
                    assert paragraph.passage[answer.start : answer.end] == answer.text

    def test_the_same_seed_gives_the_same(self) -> None:
        before = list(read_squad_json(SAMPLE))
        for kind in Perturbation.list_available():
            assert list(perturb(before, kind, 1)) == list(perturb(before, kind, 1))
        assert list(perturb(before, "misspelt", 1)) != list(perturb(before, "misspelt", 2))

    def test_the_sentence_that_shares_most_with_the_question_distracts(self) -> None:
        near = "Many an old mill has been built of wood since then."
        wrong_article = other("Who built the old mill is what nobody knows today.", article=0)
        with_answer = other("Some say that Ada Orn built the old mill all alone.")
        far = other("The harbour of the town was built much later. It has a light. " + near)
        (changed,) = [
            item
            for item in perturb([mill(), wrong_article, with_answer, far], "distractor")
            if item.questions
        ]
        assert changed.passage in (f"{MILL} {near}", f"{near} {MILL}")

    def test_without_a_sentence_that_distracts_the_passage_stays(self) -> None:
        changed = perturb(
            [mill(), other("Nothing here is like that at all, I fear.")], "distractor"
        )
        assert next(changed) == mill()

    def test_two_paragraphs_of_an_article_are_joined_in_either_order(self) -> None:
        found = set()
        for seed in range(10):
            changed, *_ = perturb([mill(), other("A quay.", 0), other("A town.")], "joined", seed)
            found.add(changed.passage)
        assert found == {f"{MILL}\nA quay.", f"A quay.\n{MILL}"}
        assert next(perturb([mill(), other("A town.")], "joined")) == mill()

    def test_one_word_is_misspelt_and_keeps_its_first_letter(self) -> None:
        for seed in range(20):
            (changed,) = questions(list(perturb([mill()], "misspelt", seed)))
            pairs = zip(["Who", "built", "the", "old", "mill?"], changed.text.split(), strict=True)
            ((right, wrong),) = [(right, wrong) for right, wrong in pairs if right != wrong]
            assert right in ("built", "mill?") and wrong[0] == right[0]
            assert abs(len(wrong) - len(right)) <= 1
        assert next(perturb([mill("Who is it?")], "misspelt")) == mill("Who is it?")

    def test_letters_that_are_several_in_the_other_case_stay(self) -> None:
        passage = "Große Straße, built by Ada Orn."
        answer = GoldAnswer("Ada Orn", passage.index("Ada Orn"))
        paragraph = Paragraph("p", passage, [Question("1", "Who?", [answer])])
        (changed,) = perturb([paragraph], "upper_case")
        assert changed.passage == "GROßE STRAßE, BUILT BY ADA ORN."
        assert changed.questions[0].answers == [answer._replace(text="ADA ORN")]

    def test_the_same_questions_are_drawn_for_every_kind(self) -> None:
        before = list(read_squad_json(SAMPLE))
        drawn = {
            tuple(question.id for question in questions(draw_questions(list(changed), 10)))
            for changed in (perturb(before, kind) for kind in Perturbation.list_available())
        }
        assert len(drawn) == 1 and len(drawn.pop()) == 10


class TestReader:
    def test_learns_from_some_changed_paragraphs(self) -> None:
        plain, changed = (
            list(BidafSquadReader(perturbations=shares).read(SAMPLE))
            for shares in (None, {"upper_case": 0.5})
        )
        assert [i["metadata"]["id"] for i in plain] == [i["metadata"]["id"] for i in changed]
        is_upper = [instance["metadata"]["passage"].isupper() for instance in changed]
        assert 0.2 < sum(is_upper) / len(is_upper) < 0.8

    def test_shares_that_cannot_be_are_refused(self) -> None:
        with pytest.raises(DataError, match="no perturbation 'magic'; known are: .*distractor"):
            BidafSquadReader(perturbations={"magic": 0.5})
        with pytest.raises(DataError, match="add up to more than 1"):
            list(perturb_some(read_squad_json(TINY_SQUAD), {"joined": 0.7, "misspelt": 0.5}))
        with pytest.raises(DataError, match="must be 0 or more, not -1"):
            BidafSquadReader(perturbations={"joined": -1})
