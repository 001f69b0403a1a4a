import json
from typing import Any

import numpy
import pytest
import torch

from bidaf_plugin.analysis.attention import (
    find_attention,
    find_attention_of_instances,
    summarize_attention,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer
from bidaf_plugin.predictors import SpanPredictor
from tests.analysis.attention_helpers import PASSAGE, QUESTION, make_attention, tiny_predictor


def encode(predictor: SpanPredictor, text: str, name: str) -> numpy.ndarray:
    """The contextual vectors of one text, by themselves. Shape: (num_words, encoding_dim)"""
    instance = predictor._json_to_instance({"question": QUESTION, "passage": text})
    predictor._dataset_reader.apply_token_indexers(instance)
    field: Any = instance[name]
    field.index(predictor._model.vocab)
    tensors = field.batch_tensors([field.as_tensor(field.get_padding_lengths())])
    with torch.no_grad():
        model = predictor._model
        return model.contextualize(*model.embed(tensors))[0].numpy()


class TestFindAttention:
    def test_values_follow_the_paper_s_equations(self) -> None:
        predictor = tiny_predictor()
        attention = find_attention(predictor, QUESTION, PASSAGE)
        h, u = encode(predictor, PASSAGE, "passage"), encode(predictor, PASSAGE, "question")
        similarity = predictor._model._attention._similarity
        weight = similarity._weight_vector.detach().numpy()
        bias = similarity._bias.item()
        expected = numpy.array(
            [[weight @ numpy.concatenate([h_t, u_j, h_t * u_j]) + bias for h_t in h] for u_j in u]
        )
        exponentials = numpy.exp(expected)
        numpy.testing.assert_allclose(
            attention.matrix, exponentials / exponentials.sum(axis=0), rtol=1e-4
        )
        largest = numpy.exp(expected.max(axis=0))
        assert attention.passage_weights is not None
        numpy.testing.assert_allclose(attention.passage_weights, largest / largest.sum(), rtol=1e-4)

    def test_words_answer_and_gold_answers_are_those_of_the_question(self) -> None:
        predictor = tiny_predictor()
        gold = GoldAnswer("Ada Venn", PASSAGE.index("Ada"))
        attention = find_attention(predictor, QUESTION, PASSAGE, "q7", [gold])
        assert attention.question_words == ["Who", "planted", "the", "orchard", "?"]
        words = [attention.question[start:end] for start, end in attention.question_offsets]
        assert words == attention.question_words
        assert attention.passage_words[8:10] == ["Ada", "Venn"]
        assert attention.gold_words == [(8, 9)]
        assert [PASSAGE[s:e] for s, e in attention.passage_offsets] == attention.passage_words
        predicted = predictor.predict(QUESTION, PASSAGE)
        assert attention.answer == predicted["best_span_str"]
        assert list(attention.answer_words or ()) == predicted["best_span"]
        assert attention.confidence == pytest.approx(predicted["confidence"], rel=1e-5)
        assert not predictor._model._attention._forward_hooks
        json.dumps(attention.to_json())

    def test_questions_in_one_batch_are_as_each_alone(self) -> None:
        predictor = tiny_predictor()
        texts = [(QUESTION, PASSAGE), ("Who?", "Ada Venn did."), ("In which year was it?", PASSAGE)]
        instances = [predictor._dataset_reader.text_to_instance(*pair) for pair in texts]
        for pair, found in zip(
            texts, find_attention_of_instances(predictor, instances), strict=True
        ):
            alone = find_attention(predictor, *pair)
            numpy.testing.assert_allclose(found.matrix, alone.matrix, rtol=1e-4, atol=1e-6)
            assert found.passage_weights is not None and alone.passage_weights is not None
            numpy.testing.assert_allclose(found.passage_weights, alone.passage_weights, rtol=1e-4)
            assert (found.question, found.passage, found.answer) == (*pair, alone.answer)

    def test_variants(self) -> None:
        no_weights = find_attention(tiny_predictor("query_to_context:: false"), QUESTION, PASSAGE)
        assert no_weights.passage_weights is None
        assert find_attention(tiny_predictor("num_hops:: 2"), QUESTION, PASSAGE).matrix.shape == (
            5,
            13,
        )
        with pytest.raises(DataError, match="has no attention layer"):
            find_attention(tiny_predictor("attention:: 'dynamic'"), QUESTION, PASSAGE)

    def test_empty_texts_are_errors(self) -> None:
        with pytest.raises(DataError, match="'passage' is empty"):
            find_attention(tiny_predictor(), QUESTION, " ")


class TestAttention:
    def test_the_strongest_words_are_those_above_the_threshold(self) -> None:
        matrix = numpy.array([[0.5, 0.1, 0.9, 0.0], [0.5, 0.9, 0.1, 1.0]])
        strongest = make_attention(matrix=matrix).strongest(0.5)
        assert strongest == [
            ("Why", {"w2": 0.9, "w0": 0.5}),
            ("not", {"w3": 1.0, "w1": 0.9, "w0": 0.5}),
        ]
        assert [list(words) for _, words in strongest] == [["w2", "w0"], ["w3", "w1", "w0"]]

    def test_the_table_has_a_row_for_each_passage_word(self) -> None:
        header, *rows = make_attention().rows()
        assert header == ["place", "passage word", "passage weight", "Why", "not"]
        assert len(rows) == 4
        assert rows[3] == [3, "w3", "0.250000", "0.000000", "1.000000"]
        _, first, *_ = make_attention(passage_weights=None).rows()
        assert first[2] == ""


class TestSummarizeAttention:
    def test_the_passage_with_the_weights_that_can_be_seen(self) -> None:
        # Shape: (4,)
        weights = numpy.array([0.01, 0.2, 0.8, 0.0])
        summary = summarize_attention(make_attention(passage_weights=weights))
        assert summary.passage == [("w0 ", 0), ("w1", 0.25), (" ", 0), ("w2", 1), (" w3", 0)]

    def test_the_words_that_attend_most_to_each_question_word(self) -> None:
        # The columns are the passage words.
        # Shape: (2, 4)
        matrix = numpy.array([[0.9, 0.4, 0.8, 0.8], [0.1, 0.2, 0.2, 0.2]])
        words = ["w0", "w1", "w0", "w3"]
        summary = summarize_attention(make_attention(matrix=matrix, passage_words=words))
        # Each once, the strongest first; nothing attends to the second word of the question.
        assert summary.question_words == [("Why", ["w0", "w3", "w1"])]

    def test_a_model_without_weights_of_the_passage(self) -> None:
        attention = make_attention(passage_weights=None)
        assert summarize_attention(attention).passage == [(attention.passage, 0)]
