import json
from pathlib import Path
from typing import Any

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.predictors import Predictor

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor

RECORD = {"question": "Who planted it?", "passage": " It was planted by Ada – in 1855.", "id": "q1"}


@pytest.fixture
def predictor(tiny_archive: Path) -> SpanPredictor:
    found = Predictor.from_path(tiny_archive)
    # The model's default predictor.
    assert isinstance(found, SpanPredictor)
    return found


class TestSpanPredictor:
    def test_answers_carry_id_text_spans_and_confidence(self, predictor: SpanPredictor) -> None:
        answer = predictor.predict_json(RECORD)
        assert sorted(answer) == [
            "best_span",
            "best_span_characters",
            "best_span_str",
            "confidence",
            "id",
        ]
        start, end = answer["best_span_characters"]
        assert RECORD["passage"][start:end] == answer["best_span_str"]
        assert answer["id"] == "q1"
        assert 0 < answer["confidence"] <= 1
        json.dumps(answer)

    def test_other_key_names_and_python_use(self, predictor: SpanPredictor) -> None:
        answer = predictor.predict_json(RECORD)
        other_keys = {"question": RECORD["question"], "context": RECORD["passage"], "qid": "q1"}
        assert predictor.predict_json(other_keys) == answer
        assert predictor.predict(RECORD["question"], RECORD["passage"], "q1") == answer

    def test_ids_and_other_keys_pass_unchanged(self, predictor: SpanPredictor) -> None:
        for id in ("x", 0, 7):
            assert predictor.predict_json({**RECORD, "id": id, "error": "mine"})["id"] == id

    def test_a_batch_gives_the_same_answers(self, predictor: SpanPredictor) -> None:
        records = [RECORD, {"question": "How far?", "passage": "It carries 18 miles, not 20."}]
        batch = predictor.predict_batch_json(records)
        for record, answer in zip(records, batch, strict=True):
            alone = predictor.predict_json(record)
            assert alone["best_span"] == answer["best_span"]
            assert alone["confidence"] == pytest.approx(answer["confidence"], rel=1e-5)

    def test_questions_on_one_passage_share_it(self, predictor: SpanPredictor) -> None:
        other = {"question": "How far?", "passage": "It carries 18 miles, not 20."}
        records = [RECORD, other, {**RECORD, "question": "When?", "id": 2}]
        first, second, third = predictor._batch_json_to_instances(records)
        assert first["passage"] is third["passage"] is not second["passage"]
        assert [item["metadata"]["id"] for item in (first, second, third)] == ["q1", "", 2]

    def test_any_number_of_questions_are_answered_in_order(self, predictor: SpanPredictor) -> None:
        words = " It was planted." * 300
        records = [
            {**RECORD, "id": number, "passage": f"{number}." + words[: 97 * (number % 41)]}
            for number in range(200)
        ]
        answers = predictor.predict_batch_json(records)
        assert [answer["id"] for answer in answers] == list(range(200))
        assert predictor.predict_batch_json([]) == []

    @pytest.mark.parametrize(
        "record, message",
        [
            ([1], "expected a JSON object"),
            ({"passage": "x"}, "'question' is missing"),
            ({"question": "x"}, "'passage' is missing"),
            ({"question": 5, "passage": "x"}, "'question' must be a string"),
            ({"question": "x", "passage": ["y"]}, "'passage' must be a string"),
            ({"question": " ", "passage": "x"}, "'question' is empty"),
            ({"question": "x", "context": "\n"}, "'passage' is empty"),
            ({"question": "x", "passage": None}, "'passage' is missing or null"),
            ({"question": "x", "passage": "\ud800"}, "lone surrogate"),
        ],
    )
    def test_bad_records_are_refused(
        self, predictor: SpanPredictor, record: Any, message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            predictor.load_line(json.dumps(record))
        with pytest.raises(DataError, match=message):
            predictor.predict_json(record)

    def test_a_line_that_is_not_json_is_refused(self, predictor: SpanPredictor) -> None:
        for line in ("{question: x}", "[" * 100_000):
            with pytest.raises(DataError, match="not JSON"):
                predictor.load_line(line)

    def test_max_answer_length(self, tiny_archive: Path) -> None:
        predictor = Predictor.from_path(tiny_archive, max_answer_length=1)
        first, last = predictor.predict_json(RECORD)["best_span"]
        assert first == last
        with pytest.raises(ConfigurationError, match="max_answer_length"):
            Predictor.from_path(tiny_archive, max_answer_length=0)

    def test_words_of_a_vector_file_become_known(self, tiny_archive: Path, tmp_path: Path) -> None:
        vectors = tmp_path / "vectors.txt"
        vectors.write_text("zeppelin " + " ".join(["0.5"] * 6) + "\n")
        predictor = Predictor.from_path(tiny_archive, pretrained_file=str(vectors))
        index = predictor._model.vocab.get_token_index("zeppelin")
        embedder = predictor._model._text_field_embedder.token_embedder_tokens
        assert embedder(torch.tensor([[index]])).flatten().tolist() == [0.5] * 6
        answer = predictor.predict("What flew?", "A zeppelin flew.")
        without = Predictor.from_path(tiny_archive).predict("What flew?", "A zeppelin flew.")
        assert answer["confidence"] != without["confidence"]

    def test_a_very_long_passage_is_answered(self, predictor: SpanPredictor) -> None:
        passage = "word " * 49_990 + "It was planted by Ada in 1855."
        start, end = predictor.predict("Who planted it?", passage)["best_span_characters"]
        assert 0 <= start < end <= len(passage)

    def test_labels_an_instance_with_the_prediction(self, predictor: SpanPredictor) -> None:
        (labeled,) = predictor.json_to_labeled_instances(RECORD)
        answer = predictor.predict_json(RECORD)
        assert labeled["answer_spans"].array.tolist() == [answer["best_span"]]
