import json
from collections import Counter
from random import Random
from typing import List

from benchmarks.data import (
    Question,
    bucketed_batches,
    deal,
    excerpt,
    grouped_batches,
    json_lines,
    limit,
    list_questions,
    load_squad,
    sorted_by_length,
    split,
    spread,
)
from tests.helpers import FIXTURES, TINY_SQUAD

SAMPLE = load_squad(FIXTURES / "squad" / "sample_dev.json")
QUESTIONS = list_questions(SAMPLE)


def num_paragraphs(batch: List[str]) -> int:
    paragraph_of_id = {question.id: question.paragraph for question in QUESTIONS}
    return len({paragraph_of_id[id_] for id_ in batch})


class TestData:
    def test_an_excerpt_has_the_questions_asked_for(self) -> None:
        ids = [question.id for question in QUESTIONS[::7]]
        found = list_questions(excerpt(SAMPLE, ids))
        assert [question.id for question in found] == ids
        assert [q.num_words for q in found] == [q.num_words for q in QUESTIONS[::7]]

    def test_a_limit_keeps_paragraphs_whole(self) -> None:
        size_of_paragraph = Counter(question.paragraph for question in QUESTIONS)
        limited = limit(SAMPLE, 30, Random(0))
        kept = {question.id for question in list_questions(limited)}
        assert 30 <= len(kept) < 30 + max(size_of_paragraph.values())
        touched = Counter(question.paragraph for question in QUESTIONS if question.id in kept)
        assert all(size_of_paragraph[number] == count for number, count in touched.items())

    def test_json_lines_are_what_predict_reads(self) -> None:
        (line,) = json_lines(load_squad(TINY_SQUAD), ["tiny-2"])
        assert set(json.loads(line)) == {"id", "question", "passage"}
        ids = [QUESTIONS[5].id, QUESTIONS[1].id]
        assert [json.loads(line)["id"] for line in json_lines(SAMPLE, ids)] == ids

    def test_batches_are_full_and_by_length(self) -> None:
        num_words = {question.id: question.num_words for question in QUESTIONS}
        for make_batches in (bucketed_batches, grouped_batches):
            batches = make_batches(QUESTIONS, 20, Random(0))
            ids = [id_ for batch in batches for id_ in batch]
            assert len(batches) == len(QUESTIONS) // 20
            assert {len(batch) for batch in batches} == {20}
            assert len(set(ids)) == len(ids)
            for id_, next_id in zip(ids, ids[1:], strict=False):
                # Each length is taken for up to 10 % more or less than it is.
                assert num_words[id_] * 0.9 <= num_words[next_id] * 1.1

    def test_grouped_batches_have_few_paragraphs(self) -> None:
        bucketed = bucketed_batches(QUESTIONS, 20, Random(0))
        grouped = grouped_batches(QUESTIONS, 20, Random(0))
        assert sum(map(num_paragraphs, grouped)) < sum(map(num_paragraphs, bucketed))

    def test_few_questions_still_make_a_batch(self) -> None:
        assert bucketed_batches([Question("a", 0, 9)], 60, Random(0)) == [["a"]]

    def test_spread_takes_the_middle_of_even_parts(self) -> None:
        batches = [[str(number)] for number in range(12)]
        assert spread(batches, 3) == [["2"], ["6"], ["10"]]
        assert spread(batches[:1], 3) == [["0"]]

    def test_deal_uses_every_question_once_and_keeps_blocks(self) -> None:
        ids = sorted_by_length(QUESTIONS)
        parts = deal(ids, 3, 10)
        assert sorted(id_ for part in parts for id_ in part) == sorted(ids)
        assert split(parts[1], 10)[0] == ids[10:20]
        assert deal(["a", "b"], 5, 1) == [["a"], ["b"]]

    def test_sorted_by_length_keeps_paragraphs_together(self) -> None:
        questions = [Question("a", 0, 5), Question("b", 1, 5), Question("c", 0, 5)]
        assert sorted_by_length(questions) == ["a", "c", "b"]
