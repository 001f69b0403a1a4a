from typing import List

import numpy
import pytest

from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from bidaf_plugin.predictors.span_distributions import find_distributions
from tests.helpers import TINY_SQUAD

QUESTIONS = [
    {"id": question.id, "question": question.text, "passage": paragraph.passage}
    for paragraph in read_squad_json(TINY_SQUAD)
    for question in paragraph.questions
]


class TestFindDistributions:
    @pytest.mark.parametrize("number", range(3))
    def test_has_what_the_model_says(self, tiny_members: List[str], number: int) -> None:
        predictor = load_span_predictor(tiny_members[number])
        counts: List[int] = []
        distributions = find_distributions(predictor, QUESTIONS, counts.append)
        assert sum(counts) == len(QUESTIONS) == len(distributions)
        for question, distribution in zip(QUESTIONS, distributions, strict=True):
            answer = predictor.predict_json(question)
            assert distribution.best_span == tuple(answer["best_span_characters"])
            assert distribution.confidence == pytest.approx(answer["confidence"], rel=1e-5)
            first, last = answer["best_span"]
            assert distribution.starts[first] == answer["best_span_characters"][0]
            assert distribution.ends[last] == answer["best_span_characters"][1]
            for log_probs in (distribution.start_log_probs, distribution.end_log_probs):
                assert log_probs.dtype == numpy.float32
                assert len(log_probs) == len(distribution.starts)
                assert numpy.exp(log_probs).sum() == pytest.approx(1, rel=1e-5)

    def test_questions_on_a_passage_share_its_tokens(self, tiny_members: List[str]) -> None:
        distributions = find_distributions(load_span_predictor(tiny_members[0]), QUESTIONS)
        assert distributions[0].starts is distributions[1].starts
        assert distributions[0].starts is not distributions[-1].starts

    def test_the_limit_of_the_answer_s_length_is_known(self, tiny_members: List[str]) -> None:
        for limit in (None, 2):
            predictor = load_span_predictor(tiny_members[0], max_answer_length=limit)
            (distribution,) = find_distributions(predictor, QUESTIONS[:1])
            assert distribution.max_answer_length == limit

    def test_a_text_without_words_is_an_error(self, tiny_members: List[str]) -> None:
        predictor = load_span_predictor(tiny_members[0])
        predictor._dataset_reader._tokenizer = LettersOnly()
        with pytest.raises(DataError, match="no words in the passage '1871'"):
            find_distributions(predictor, [{"question": "When?", "passage": "1871"}])


class LettersOnly:
    def batch_tokenize(self, texts: List[str]) -> List[list]:
        return [[] for _ in texts]
