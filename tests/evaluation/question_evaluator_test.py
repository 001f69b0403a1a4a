import json
from pathlib import Path

import pytest
from allennlp.common import Params
from allennlp.data import DataLoader
from allennlp.evaluation import Evaluator
from allennlp.evaluation.evaluator import SimpleEvaluator
from allennlp.models.archival import Archive, load_archive
from allennlp.predictors import Predictor

from bidaf_plugin.evaluation import QuestionEvaluator
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

    def test_shows_progress_in_questions(
        self, archive: Archive, capsys: pytest.CaptureFixture
    ) -> None:
        loader = make_loader(archive)
        capsys.readouterr()
        QuestionEvaluator()(archive.model, loader)
        shown = capsys.readouterr().err
        assert "f1: " in shown and "questions/s" in shown and "100%" in shown

    def test_no_answer_is_null(self, v2_archive: Path, tmp_path: Path) -> None:
        archive = load_archive(v2_archive, overrides='{"model.output_layer.no_answer_threshold": 0}')
        path = tmp_path / "answers.jsonl"
        metrics = QuestionEvaluator()(
            archive.model, make_loader(archive), predictions_output_file=path
        )
        for answer in map(json.loads, path.read_text().splitlines()):
            assert answer["best_span"] is None and answer["best_span_characters"] is None
            assert answer["best_span_str"] == "" and answer["no_answer_probability"] > 0
        assert metrics["em"] == metrics["has_answer_em"] == 0
