import io
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, List

import pytest
from allennlp.predictors import Predictor

from bidaf_plugin.commands.pack_cloze import pack
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import ClozePredictor, cloze_predictor
from bidaf_plugin.upstream.predict_manager import PredictManager
from tests.cloze_helpers import (
    TINY_CLOZE,
    UNANSWERABLE_CLOZE,
    question_text,
    write_folder,
    write_tar,
)

RECORD = {
    "id": "q1",
    "question": "@placeholder met @entity2 in the @entity99",
    "passage": "(@entity1's  friend) @entity2 met @entity1;\nnobody else.",
    "names": {"@entity1": "Ada Orn"},
}


def spy_on_batches(predictor: Predictor, monkeypatch: pytest.MonkeyPatch) -> List[int]:
    """A list that receives the sizes of the batches that the model sees."""
    sizes: List[int] = []
    forward = predictor._model.forward

    def forward_and_note(**tensors: Any) -> Any:
        sizes.append(len(tensors["metadata"]))
        return forward(**tensors)

    monkeypatch.setattr(predictor._model, "forward", forward_and_note)
    return sizes


@pytest.fixture
def predictor(tiny_cloze_archive: Path) -> ClozePredictor:
    found = Predictor.from_path(tiny_cloze_archive)
    assert isinstance(found, ClozePredictor)
    return found


class TestClozePredictor:
    def test_answers_carry_id_entity_name_and_candidates(self, predictor: ClozePredictor) -> None:
        answer = predictor.predict_json(RECORD)
        assert sorted(answer) == [
            "best_entity",
            "best_entity_name",
            "candidates",
            "confidence",
            "id",
        ]
        assert answer["id"] == "q1"
        names = {candidate["entity"]: candidate["name"] for candidate in answer["candidates"]}
        assert names == {"@entity1": "Ada Orn", "@entity2": None}
        assert answer["best_entity_name"] == names[answer["best_entity"]]
        assert sum(c["probability"] for c in answer["candidates"]) == pytest.approx(1, abs=1e-5)
        json.dumps(answer)

    def test_spans_are_of_the_passage_as_given(self, predictor: ClozePredictor) -> None:
        passage = RECORD["passage"]
        assert isinstance(passage, str)
        num_mentions = 0
        for candidate in predictor.predict_json(RECORD)["candidates"]:
            for mention in candidate["mentions"]:
                start, end = mention["characters"]
                assert passage[start:end] == candidate["entity"]
                num_mentions += 1
        assert num_mentions == 3

    def test_other_key_names_and_python_use(self, predictor: ClozePredictor) -> None:
        answer = predictor.predict_json(RECORD)
        other_keys = {"question": RECORD["question"], "context": RECORD["passage"], "qid": "q1"}
        assert predictor.predict_json({**other_keys, "names": RECORD["names"]}) == answer
        assert predictor.predict(**RECORD) == answer  # type: ignore[arg-type]
        without_id = {name: value for name, value in RECORD.items() if name != "id"}
        assert predictor.predict_json(without_id) == {**answer, "id": ""}
        unnamed = predictor.predict_json(other_keys)
        assert unnamed["best_entity"] == answer["best_entity"]
        assert unnamed["best_entity_name"] is None

    def test_a_known_answer_changes_no_prediction(self, predictor: ClozePredictor) -> None:
        answer = predictor.predict_json(RECORD)
        assert predictor.predict_json({**RECORD, "answer": "@entity2"}) == answer
        assert "accuracy" in predictor._model.get_metrics(reset=True)
        # Not in the passage: still a prediction.
        assert predictor.predict_json({**RECORD, "answer": "@entity77"}) == answer
        assert predictor._model.get_metrics(reset=True)["accuracy"] == 0

    def test_many_questions_are_answered_in_batches_that_fit(
        self, predictor: ClozePredictor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        records = [{**RECORD, "id": str(number)} for number in range(7)]
        # Three windows of at most 10 words each.
        monkeypatch.setattr(cloze_predictor, "MAX_WORDS", 2 * 3 * 10)
        sizes = spy_on_batches(predictor, monkeypatch)
        answers = predictor.predict_batch_json(records)
        assert [answer["id"] for answer in answers] == [record["id"] for record in records]
        assert sizes == [2, 2, 2, 1]
        assert predictor.predict_batch_json([]) == []

    def test_a_batch_gives_the_same_answers(self, predictor: ClozePredictor) -> None:
        records = [RECORD, {"question": "@placeholder won", "passage": "@entity5 won ."}]
        for record, answer in zip(records, predictor.predict_batch_json(records), strict=True):
            alone = predictor.predict_json(record)
            assert alone["best_entity"] == answer["best_entity"]
            assert alone["confidence"] == pytest.approx(answer["confidence"], rel=1e-5)

    @pytest.mark.parametrize(
        "record, message",
        [
            ([1], "expected a JSON object"),
            ({"passage": "@entity1"}, "'question' is missing"),
            ({"question": "@placeholder"}, "'passage' is missing"),
            ({"question": 5, "passage": "@entity1"}, "'question' must be a string"),
            ({"question": " ", "passage": "@entity1"}, "'question' is empty"),
            ({"question": "@placeholder", "passage": "\ud800"}, "lone surrogate"),
            ({"question": "who?", "passage": "@entity1"}, "the question has no @placeholder"),
            (
                {"question": "@placeholder and @placeholder", "passage": "@entity1"},
                "2 times @placeholder",
            ),
            ({"question": "@placeholder", "passage": "@entity1x"}, "the passage has no entity"),
            ({**RECORD, "answer": "Ada"}, "'answer' must be an entity"),
            ({**RECORD, "answer": 1}, "'answer' must be an entity"),
            ({**RECORD, "names": ["Ada"]}, "'names' must be an object"),
            ({**RECORD, "names": {"Ada": "@entity1"}}, "'names' has 'Ada'"),
            ({**RECORD, "names": {"@entity1": 7}}, "'names' has '@entity1': 7"),
        ],
    )
    def test_bad_records_are_refused(
        self, predictor: ClozePredictor, record: Any, message: str
    ) -> None:
        with pytest.raises(DataError, match=message):
            predictor.make_questions([record])
        with pytest.raises(DataError, match=message):
            predictor.predict_json(record)

    def test_a_line_that_is_not_json_is_refused(self, predictor: ClozePredictor) -> None:
        for line in ("{question: x}", "[" * 100_000):
            with pytest.raises(DataError, match="not JSON"):
                predictor.load_line(line)

    def test_question_files(self, predictor: ClozePredictor, tmp_path: Path) -> None:
        answer = predictor.predict_question_file(str(TINY_CLOZE / "tiny-1.question"))
        assert answer["id"] == "tiny-1"
        assert {c["name"] for c in answer["candidates"]} == {
            "Lorbeck",
            "Mila Tarn",
            "Eastfold",
            "Jon Averill",
        }
        path = tmp_path / "mine.question"
        path.write_text(question_text(answer=""))
        assert predictor.predict_question_file(str(path))["best_entity"] is not None
        path.write_text(question_text(question="who?"))
        with pytest.raises(DataError, match="mine.question: the question has no @placeholder"):
            predictor.predict_question_file(str(path))
        with pytest.raises(DataError, match="no such file"):
            predictor.predict_question_file(str(tmp_path / "other.question"))

    def test_only_a_single_question_file_is_taken_for_one(
        self, predictor: ClozePredictor, tmp_path: Path
    ) -> None:
        folder = write_folder(tmp_path / "folder.question", 1)
        archive = write_tar(tmp_path / "a.tar.gz", ["x/1.question"])
        # Each has one question, so that it is not their number that is refused.
        packed = tmp_path / "packed.question"
        pack(str(folder), str(packed))
        for path in (folder, archive, f"{archive}!x", packed):
            with pytest.raises(DataError, match="expected a single .question file"):
                predictor.predict_question_file(str(path))


class TestPredictCommand:
    """`allennlp predict` with a cloze model."""

    def test_bad_lines_are_named_or_skipped(self, tiny_cloze_archive: Path, tmp_path: Path) -> None:
        source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        lines = [json.dumps(RECORD), json.dumps({**RECORD, "question": "who?"}), json.dumps(RECORD)]
        source.write_text("\n".join(lines))
        predictor = Predictor.from_path(tiny_cloze_archive)
        with pytest.raises(DataError, match="line 2: .*no @placeholder"):
            PredictManager(predictor, str(source), str(target), 2, False, False).run()
        assert not target.exists()
        predictor = Predictor.from_path(tiny_cloze_archive, skip_bad=True)
        PredictManager(predictor, str(source), str(target), 2, False, False).run()
        answers = [json.loads(line) for line in target.read_text().splitlines()]
        assert [sorted(answer)[0] for answer in answers] == ["best_entity", "error", "best_entity"]

    @pytest.mark.parametrize("use_dataset_reader", [False, True])
    @pytest.mark.parametrize(
        "batch_size, command_line, expected",
        [
            (1, "predict a b", [6]),
            (1, "predict a b --batch-size 1", [1] * 6),
            (4, "predict a b --batch-size 4", [4, 2]),
        ],
    )
    def test_questions_share_batches_and_keep_their_order(
        self,
        predictor: ClozePredictor,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        use_dataset_reader: bool,
        batch_size: int,
        command_line: str,
        expected: List[int],
    ) -> None:
        monkeypatch.setattr("sys.argv", ["allennlp", *command_line.split()])
        source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        ids = [f"tiny-{number}" for number in range(1, 7)]
        source.write_text("\n".join(json.dumps({**RECORD, "id": id}) for id in ids))
        path = TINY_CLOZE if use_dataset_reader else source
        sizes = spy_on_batches(predictor, monkeypatch)
        PredictManager(
            predictor, str(path), str(target), batch_size, False, use_dataset_reader
        ).run()
        assert sizes == expected
        assert [json.loads(line)["id"] for line in target.read_text().splitlines()] == ids

    def test_a_line_from_a_pipe_is_answered_before_the_next_one_comes(
        self, predictor: ClozePredictor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        num_written: List[int] = []

        class SlowPipe(io.BytesIO):
            def read1(self, size: Any = -1) -> bytes:
                # The output has its name when it is complete.
                (output,) = tmp_path.iterdir()
                num_written.append(len(output.read_text().splitlines()))
                return self.readline()

        pipe = SlowPipe(f"{json.dumps(RECORD)}\n".encode() * 3)
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=pipe))
        PredictManager(predictor, "-", str(tmp_path / "out.jsonl"), 1, False, False).run()
        assert num_written == [0, 1, 2, 3]

    @pytest.mark.parametrize("folder", [TINY_CLOZE, UNANSWERABLE_CLOZE], ids=lambda path: path.name)
    def test_folders_of_question_files(
        self, tiny_cloze_archive: Path, tmp_path: Path, folder: Path
    ) -> None:
        target = tmp_path / "out.jsonl"
        predictor = Predictor.from_path(tiny_cloze_archive)
        PredictManager(predictor, str(folder), str(target), 2, False, True).run()
        answers = [json.loads(line) for line in target.read_text().splitlines()]
        assert [a["id"] for a in answers] == sorted(path.stem for path in folder.iterdir())
        for answer in answers:
            assert (answer["best_entity"] is None) == (answer["id"] == "no-entities")
            alone = predictor.predict_question_file(f"{folder}/{answer['id']}.question")
            assert alone["best_entity"] == answer["best_entity"]

    def test_question_files_without_an_answer(
        self, tiny_cloze_archive: Path, tmp_path: Path
    ) -> None:
        texts = {"mine.question": question_text(answer="")}
        folder, target = write_folder(tmp_path / "questions", 1, texts), tmp_path / "out.jsonl"
        predictor = Predictor.from_path(tiny_cloze_archive)
        with pytest.raises(DataError, match="mine.question: the answer is missing"):
            PredictManager(predictor, str(folder), str(target), 2, False, True).run()
        predictor = Predictor.from_path(
            tiny_cloze_archive, overrides='{"validation_dataset_reader.needs_answer": false}'
        )
        PredictManager(predictor, str(folder), str(target), 2, False, True).run()
        answers = [json.loads(line) for line in target.read_text().splitlines()]
        assert [answer["id"] for answer in answers] == ["mine", "q0000"]
        # But for the answer the files are the same.
        first, second = (answer["candidates"] for answer in answers)
        assert [one["entity"] for one in first] == [one["entity"] for one in second]
        for one, other in zip(first, second, strict=True):
            assert one["probability"] == pytest.approx(other["probability"], abs=1e-6)
