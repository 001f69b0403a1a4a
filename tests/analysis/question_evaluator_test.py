import json
from pathlib import Path
from typing import Any, Dict, List

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DataLoader, Instance
from allennlp.data.fields import MetadataField
from allennlp.evaluation import Evaluator
from allennlp.evaluation.evaluator import SimpleEvaluator
from allennlp.models.archival import Archive, load_archive
from allennlp.predictors import Predictor

from bidaf_plugin.analysis import QuestionEvaluator
from bidaf_plugin.analysis.question_evaluator import open_answer_file
from bidaf_plugin.common.errors import DataError
from tests.cloze_helpers import TINY_CLOZE
from tests.helpers import FIXTURES

SAMPLE = FIXTURES / "squad" / "sample_dev.json"


@pytest.fixture
def archive(tiny_archive: Path) -> Archive:
    return load_archive(tiny_archive)


def make_loader(archive: Archive, **settings: object) -> DataLoader:
    params = {"batch_sampler": {"type": "bidaf_bucket", "batch_size": 16, "shuffle": False}}
    loader = DataLoader.from_params(
        Params({**params, **settings}),
        reader=archive.validation_dataset_reader,
        data_path=str(SAMPLE),
    )
    loader.index_with(archive.model.vocab)
    return loader


class TestQuestionEvaluator:
    def test_is_what_the_configs_choose(self, archive: Archive) -> None:
        params = archive.config.get("evaluation")
        assert isinstance(Evaluator.from_params(params), QuestionEvaluator)

    def test_gives_the_numbers_of_allennlp_s(self, archive: Archive, tmp_path: Path) -> None:
        output_file = tmp_path / "metrics.json"
        expected = SimpleEvaluator()(archive.model, make_loader(archive))
        metrics = QuestionEvaluator()(
            archive.model, make_loader(archive), metrics_output_file=output_file
        )
        assert metrics == expected == json.loads(output_file.read_text())
        assert {"em", "f1", "loss"} <= set(metrics)

    @pytest.mark.parametrize("name", ["metrics_output_file", "predictions_output_file"])
    def test_where_nothing_can_be_written_nothing_is_evaluated(
        self, archive: Archive, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(archive.model, "forward", None)
        for path, message in (
            (tmp_path / "no" / "x.json", "x.json: there is no such folder"),
            (tmp_path, "this is a folder, not a file"),
        ):
            with pytest.raises(DataError, match=message):
                arguments: Dict[str, Any] = {name: path}
                QuestionEvaluator()(archive.model, make_loader(archive), **arguments)

    def test_writes_the_answers_in_the_order_of_the_data(
        self, archive: Archive, tmp_path: Path
    ) -> None:
        path = tmp_path / "answers.jsonl"
        QuestionEvaluator()(archive.model, make_loader(archive), predictions_output_file=path)
        answers = [json.loads(line) for line in path.read_text().splitlines()]
        instances = list(archive.validation_dataset_reader.read(SAMPLE))
        assert [item["id"] for item in answers] == [i["metadata"]["id"] for i in instances]
        alone = Predictor.from_archive(archive).predict_instance(instances[7])
        assert answers[7]["best_span_characters"] == alone["best_span_characters"]
        assert sorted(answers[7]) == sorted(alone)

    def test_data_that_is_read_in_pieces_is_answered_too(
        self, archive: Archive, tmp_path: Path
    ) -> None:
        path = tmp_path / "answers.jsonl"
        loader = make_loader(archive, max_instances_in_memory=20)
        QuestionEvaluator()(archive.model, loader, predictions_output_file=path)
        ids = {json.loads(line)["id"] for line in path.read_text().splitlines()}
        assert ids == {i["metadata"]["id"] for i in archive.validation_dataset_reader.read(SAMPLE)}

    def test_cloze_answers_are_those_of_predict(
        self, tiny_cloze_archive: Path, tmp_path: Path
    ) -> None:
        archive = load_archive(tiny_cloze_archive)
        loader = DataLoader.from_params(
            archive.config["validation_data_loader"],
            reader=archive.validation_dataset_reader,
            data_path=str(TINY_CLOZE),
        )
        loader.index_with(archive.model.vocab)
        path = tmp_path / "answers.jsonl"
        QuestionEvaluator()(archive.model, loader, predictions_output_file=path)
        answers = [json.loads(line) for line in path.read_text().splitlines()]
        predictor = Predictor.from_archive(archive)
        for answer, instance in zip(
            answers, archive.validation_dataset_reader.read(TINY_CLOZE), strict=True
        ):
            alone = predictor.predict_instance(instance)
            assert (answer["id"], answer["best_entity"]) == (alone["id"], alone["best_entity"])
            # Null where the file has none.
            assert answer["best_entity_name"] == alone["best_entity_name"]
            names, expected = (
                {candidate["entity"]: candidate["name"] for candidate in item["candidates"]}
                for item in (answer, alone)
            )
            assert names == expected
        assert answers[2]["best_entity_name"] is None

    def test_shows_progress_in_questions(
        self, archive: Archive, capsys: pytest.CaptureFixture
    ) -> None:
        loader = make_loader(archive)
        capsys.readouterr()
        QuestionEvaluator()(archive.model, loader)
        shown = capsys.readouterr().err
        assert "f1: " in shown and "questions/s" in shown and "100%" in shown

    def test_no_answer_is_null(self, v2_archive: Path, tmp_path: Path) -> None:
        archive = load_archive(
            v2_archive, overrides='{"model.output_layer.no_answer_threshold": 0}'
        )
        path = tmp_path / "answers.jsonl"
        metrics = QuestionEvaluator()(
            archive.model, make_loader(archive), predictions_output_file=path
        )
        for answer in map(json.loads, path.read_text().splitlines()):
            assert answer["best_span"] is None and answer["best_span_characters"] is None
            assert answer["best_span_str"] == "" and answer["no_answer_probability"] > 0
        assert metrics["em"] == metrics["has_answer_em"] == 0


METADATA: List[Any] = [{"id": number} for number in range(4)]


def lines(path: Path) -> List[Any]:
    return [json.loads(line) for line in path.read_text().splitlines()]


class TestOpenAnswerFile:
    def test_answers_are_in_the_order_of_the_data(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.jsonl"
        instances = [Instance({"metadata": MetadataField(item)}) for item in METADATA]
        with open_answer_file(str(path), instances) as write:
            for places in ([3, 0], [2, 1]):
                write([METADATA[place] for place in places], [METADATA[place] for place in places])
        assert lines(path) == METADATA

    def test_answers_to_large_data_are_written_as_they_come(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.jsonl"
        with open_answer_file(str(path)) as write:
            write(METADATA[2:], METADATA[2:])
            write(METADATA[:2], METADATA[:2])
        assert lines(path) == METADATA[2:] + METADATA[:2]

    def test_nothing_stays_null_and_tensors_become_numbers(self, tmp_path: Path) -> None:
        path = tmp_path / "answers.jsonl"
        answer = {"name": None, "candidates": [{"name": None, "score": torch.tensor([0.5])}]}
        with open_answer_file(str(path)) as write:
            write([{}], [answer])
        assert lines(path) == [{"name": None, "candidates": [{"name": None, "score": [0.5]}]}]

    def test_a_failure_leaves_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(KeyError), open_answer_file(str(tmp_path / "answers.jsonl")) as write:
            write([{}], [{}])
            raise KeyError
        assert not list(tmp_path.iterdir())
