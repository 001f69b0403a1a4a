import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.predictors import Predictor

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.predictors import SpanPredictor, span_predictor_base
from bidaf_plugin.predictors.records import check_record
from bidaf_plugin.runtime.records import Record
from bidaf_plugin.upstream.predict_manager import PredictManager

RECORD = {"question": "Who planted it?", "passage": " It was planted by Ada – in 1855.", "id": "q1"}


@pytest.fixture
def predictor(tiny_archive: Path) -> SpanPredictor:
    found = Predictor.from_path(tiny_archive)
    # The model's default predictor.
    assert isinstance(found, SpanPredictor)
    return found


def spy_on_passage_lengths(monkeypatch: pytest.MonkeyPatch) -> List[int]:
    """A list that receives the number of passage tokens, with padding, of each batch."""
    lengths: List[int] = []
    forward = AttentionFlow.forward

    def spy(self: Any, **arguments: Any) -> Any:
        lengths.append(arguments["passage"]["tokens"]["tokens"].numel())
        return forward(self, **arguments)

    monkeypatch.setattr(AttentionFlow, "forward", spy)
    return lengths


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
        questions = predictor.make_questions(records)
        first, second, third = (question.instances[0] for question in questions)
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
            ({"question": "x", "passage": None}, "'passage' is null; expected a string"),
            ({"question": "x"}, r"'passage' is missing; found \['question'\]$"),
            (
                {"data": [], "version": "1.1"},
                "is missing; .*a SQuAD file needs --use-dataset-reader",
            ),
            ({"question": "x", "passage": "\ud800"}, "lone surrogate"),
            ({"question": "x", "passage": "y", "passages": ["z"]}, "both 'passage' and 'passages'"),
            ({"question": "x", "passages": "y"}, "'passages' must be a list"),
            ({"question": "x", "passages": []}, "'passages' must be a list"),
            ({"question": "x", "passages": ["y", ""]}, r"passages\[1\].* is empty"),
            ({"question": "x", "passages": ["y", 5]}, r"passages\[1\].* must be a string"),
        ],
    )
    def test_bad_records_are_refused(
        self, predictor: SpanPredictor, record: Any, message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            predictor.make_questions([record])
        with pytest.raises(DataError, match=message):
            predictor.predict_json(record)

    def test_a_record_is_checked_once(
        self, predictor: SpanPredictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checked: List[Any] = []

        def check(record: Any) -> Record:
            checked.append(record)
            return check_record(record)

        monkeypatch.setattr(span_predictor_base, "check_record", check)
        records = [{**RECORD, "id": number} for number in range(3)]
        predictor.predict_batch_json(records)
        assert checked == records
        source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        source.write_text("\n".join(map(json.dumps, records)))
        PredictManager(predictor, str(source), str(target), 2, False, False).run()
        assert checked == 2 * records

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

    def test_n_best(self, tiny_archive: Path, predictor: SpanPredictor) -> None:
        passage = "Ada met Bob. Bob met Ada and Ada."
        answer = predictor.predict("Who?", passage)
        ranked = Predictor.from_path(tiny_archive, n_best=4).predict("Who?", passage)
        n_best = ranked.pop("n_best")
        # What was there before is as it was.
        assert ranked.pop("confidence") == pytest.approx(answer.pop("confidence"))
        assert ranked == answer
        assert len({item["text"] for item in n_best}) == len(n_best) == 4
        probabilities = [item["probability"] for item in n_best]
        assert probabilities == sorted(probabilities, reverse=True)
        for item in n_best:
            assert passage[slice(*item["characters"])] == item["text"]
            assert item["passage_index"] == 0
        json.dumps(n_best)
        for wrong in (0, 1.5, "3"):
            with pytest.raises(ConfigurationError, match="n_best must be a whole number"):
                Predictor.from_path(tiny_archive, n_best=wrong)

    def test_n_best_of_each_question(
        self, predictor: SpanPredictor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        alone = [predictor.ask(RECORD["question"], RECORD["passage"], n) for n in (1, 3)]
        lengths = spy_on_passage_lengths(monkeypatch)
        records = [{**RECORD, "n_best": number} for number in (None, 1, 3)]
        plain, *listed = predictor.predict_batch_json(records)
        # One forward pass for all.
        assert len(lengths) == 1
        assert "n_best" not in plain
        for record, answers in zip(listed, alone, strict=True):
            found = [(item["text"], item["characters"]) for item in record["n_best"]]
            assert found == [(answer.text, [answer.start, answer.end]) for answer in answers]
        with pytest.raises(DataError, match="'n_best' must be a whole number"):
            predictor.predict_json({**RECORD, "n_best": 0})

    def test_ask(self, tiny_archive: Path, predictor: SpanPredictor) -> None:
        passage = "Ada met Bob. Bob met Ada and Ada."
        answers = predictor.ask("Who?", passage, n_best=3)
        ranked = Predictor.from_path(tiny_archive, n_best=3).predict("Who?", passage)
        assert [answer.to_json() for answer in answers] == ranked["n_best"]
        best = predictor.ask("Who?", passage).best
        assert best is not None and best == answers.best
        assert passage[best.start : best.end] == best.text
        with pytest.raises(DataError, match="'question' is empty"):
            predictor.ask(" ", passage)

    def test_several_passages(self, predictor: SpanPredictor) -> None:
        passages = ["It was planted by Ada in 1855.", "Bob cut it down.", "Nobody knows."]
        record = predictor.predict_json({"question": "Who?", "passages": passages, "id": "1"})
        passage = passages[record["passage_index"]]
        assert passage[slice(*record["best_span_characters"])] == record["best_span_str"]
        assert record == predictor.predict("Who?", passages, "1")
        answers = predictor.ask("Who?", passages, n_best=100)
        assert {answer.passage_index for answer in answers} == {0, 1, 2}
        for answer in answers:
            assert passages[answer.passage_index][answer.start : answer.end] == answer.text
        (alone,) = predictor.predict_batch_json([{"question": "Who?", "passages": passages[:1]}])
        assert alone["passage_index"] == 0
        single = predictor.predict("Who?", passages[0])
        assert alone["best_span"] == single["best_span"] and "passage_index" not in single

    def test_an_answer_is_one_softmax_over_all_passages(self, predictor: SpanPredictor) -> None:
        """With the passage there twice, `p1` and `p2` are halves, and there are two of each answer."""
        passage = "It was planted by Ada in 1855."
        once = predictor.ask("Who?", passage, n_best=1).best
        twice = predictor.ask("Who?", [passage, passage], n_best=1).best
        assert once is not None and twice is not None and once.text == twice.text
        assert twice.probability == pytest.approx(once.probability / 2, rel=1e-4)

    @pytest.mark.parametrize("temperature", [0.25, 4.0])
    def test_a_temperature_changes_no_answer_of_several_passages(
        self, predictor: SpanPredictor, temperature: float, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        passages = [f"Number {n} was seen by Ada, and by nobody else but Bo." for n in range(6)]
        questions = [f"Who saw {n}?" for n in (2, "it", "number 4", "Ada")]
        before = [predictor.predict(question, passages) for question in questions]
        _, _, passage_weight, _ = predictor.piece_settings()
        monkeypatch.setattr(predictor._model._output_layer, "temperature", temperature)
        # As the logits that it is added to.
        assert predictor.piece_settings()[2] == pytest.approx(passage_weight / temperature)
        after = [predictor.predict(question, passages) for question in questions]
        for old, new in zip(before, after, strict=True):
            assert new["passage_index"] == old["passage_index"]
            assert new["best_span"] == old["best_span"]
            assert (new["confidence"] < old["confidence"]) == (temperature > 1)

    def test_no_answer(self, v2_archive: Path) -> None:
        always = Predictor.from_path(v2_archive, no_answer_threshold=0.0, n_best=2)
        never = Predictor.from_path(v2_archive, no_answer_threshold=1.0, n_best=2)
        passages = ["It was Ada.", "It was Bob."]
        for passage in (passages[0], passages):
            none = always.predict("Who?", passage)
            assert none["best_span_str"] == ""
            assert none["best_span"] is None and none["best_span_characters"] is None
            assert none["confidence"] == none["no_answer_probability"] > 0
            assert len(none["n_best"]) == 2
            some = never.predict("Who?", passage)
            assert some["best_span_str"] and some["n_best"] == none["n_best"]
            answers = always.ask("Who?", passage)
            assert answers.best is None and len(answers) == 1
            assert answers.no_answer_probability == pytest.approx(none["no_answer_probability"])
        assert none["passage_index"] is None
        # The same number as the model's own.
        plain = Predictor.from_path(v2_archive).predict("Who?", passages[0])
        ranked = never.predict("Who?", passages[0])
        assert ranked["no_answer_probability"] == pytest.approx(plain["no_answer_probability"])
        # The probability of an answer is that of all spans which read so.
        assert 0 < ranked["confidence"] <= never.ask("Who?", passages[0])[0].probability

    def test_a_threshold_needs_a_model_with_the_score(self, tiny_archive: Path) -> None:
        with pytest.raises(ConfigurationError, match="no_answer: true"):
            Predictor.from_path(tiny_archive, no_answer_threshold=0.5)

    def test_long_passages_are_read_in_pieces(
        self, tiny_archive: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lengths = spy_on_passage_lengths(monkeypatch)
        predictor = Predictor.from_path(tiny_archive, max_passage_tokens=50, stride=40, n_best=3)
        passage = " ".join(f"w{number}" for number in range(171)) + " It was planted by Ada."
        answer = predictor.predict("Who planted it?", passage)
        assert sum(lengths) == 50 * 5
        assert passage[slice(*answer["best_span_characters"])] == answer["best_span_str"]
        first, last = answer["best_span"]
        assert " ".join(passage.split()[first : last + 1]).rstrip(".") == answer[
            "best_span_str"
        ].rstrip(" .")
        assert "passage_index" not in answer
        with pytest.raises(ConfigurationError, match="stride is 60 and piece_tokens 50"):
            Predictor.from_path(tiny_archive, max_passage_tokens=50, stride=60)

    def test_a_document_of_100_000_tokens_needs_little_memory(
        self, tiny_archive: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lengths = spy_on_passage_lengths(monkeypatch)
        predictor = Predictor.from_path(tiny_archive)
        words = " ".join(f"w{number}" for number in range(99_900))
        passage = f"{words} It was planted by Ada in 1855."
        answers = predictor.ask("Who planted it?", passage, n_best=2)
        assert len(answers) == 2
        # The pieces of a batch have no more than the tokens of a batch of short passages.
        assert max(lengths) <= 16_000
        # The piece with the words of the question wins.
        first_token = answers[0].first_token
        assert first_token is not None and first_token > 98_000

    def test_batches_and_their_order_change_no_answer(self, tiny_archive: Path) -> None:
        predictor = Predictor.from_path(tiny_archive, n_best=3, max_passage_tokens=20)
        records: List[Dict[str, Any]] = []
        for number in range(12):
            passage = "It was planted by Ada. " * (1 + 3 * number % 7)
            passages = [passage, f"Number {number} was Bob.", passage + "So be it."]
            records.append({"id": number, "question": "Who " * (1 + number % 3)})
            records[-1].update({"passages": passages} if number % 2 else {"passage": passage})
        together = predictor.predict_batch_json(records)
        backwards = predictor.predict_batch_json(records[::-1])[::-1]
        for record, one, other in zip(records, together, backwards, strict=True):
            alone = predictor.predict_json(record)
            for answer in (one, other):
                assert answer["best_span_characters"] == alone["best_span_characters"]
                assert answer["id"] == record["id"]
                for item, expected in zip(answer["n_best"], alone["n_best"], strict=True):
                    assert item.pop("probability") == pytest.approx(
                        expected["probability"], rel=1e-4
                    )
                    assert item == {k: v for k, v in expected.items() if k != "probability"}

    def test_labels_an_instance_with_the_prediction(self, predictor: SpanPredictor) -> None:
        (labeled,) = predictor.json_to_labeled_instances(RECORD)
        answer = predictor.predict_json(RECORD)
        assert labeled["answer_spans"].array.tolist() == [answer["best_span"]]
