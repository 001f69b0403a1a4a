import json
import shutil
from pathlib import Path
from typing import Any, Dict, List

import pytest
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.models import Model, load_archive
from allennlp.predictors import Predictor

from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.archives.ensemble import write_ensemble_archive
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.modules.ensemble_rules import EnsembleRule
from bidaf_plugin.predictors import EnsemblePredictor
from bidaf_plugin.predictors.span_distributions import find_distributions
from tests.helpers import ROOT, TINY_SQUAD, as_tensors, tiny_params

RECORD = {"question": "Who planted it?", "passage": " It was planted by Ada – in 1855.", "id": "q1"}
RULES = ["votes", "spans", "mean", "product"]


def build(members: List[str], **settings: Any) -> Model:
    params = {"type": "attention_flow_ensemble", "members": members, **settings}
    return Model.from_params(Params(params), vocab=Vocabulary())


def answer_by_hand(members: List[str], rule: str, record: Dict[str, Any]) -> Dict[str, Any]:
    distributions = [
        find_distributions(load_span_predictor(member), [record])[0] for member in members
    ]
    best = EnsembleRule.by_name(rule)().best(distributions, record["passage"])
    return {
        "best_span_str": best.text(record["passage"]),
        "best_span_characters": list(best.span),
        "confidence": pytest.approx(best.confidence, rel=1e-5),
    }


@pytest.fixture(scope="module")
def own_archive(tiny_members: List[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive of an ensemble whose members are gone."""
    folder = tmp_path_factory.mktemp("ensemble")
    copies = []
    for number, member in enumerate(tiny_members):
        copies.append(str(folder / f"{number}.tar.gz"))
        shutil.copy(member, copies[-1])
    write_ensemble_archive(copies, "mean", str(folder / "all.tar.gz"))
    for copy in copies:
        Path(copy).unlink()
    assert [path.name for path in folder.iterdir()] == ["all.tar.gz"]
    return folder / "all.tar.gz"


class TestAttentionFlowEnsemble:
    def test_an_archive_is_whole_and_predicts(
        self, own_archive: Path, tiny_members: List[str]
    ) -> None:
        predictor = Predictor.from_path(own_archive)
        assert isinstance(predictor, EnsemblePredictor)
        answer = predictor.predict_json(RECORD)
        assert sorted(answer) == [
            "best_span",
            "best_span_characters",
            "best_span_str",
            "confidence",
            "id",
        ]
        assert answer["id"] == "q1"
        expected = answer_by_hand(tiny_members, "mean", RECORD)
        assert {key: answer[key] for key in expected} == expected
        # Its tokens are those of the first member's reader.
        first, last = answer["best_span"]
        instance = predictor._json_to_instance(RECORD)
        tokens = instance["metadata"]["passage_tokens"]
        start, end = answer["best_span_characters"]
        assert tokens[first].idx <= start and end <= tokens[last].idx_end
        json.dumps(answer)

    @pytest.mark.parametrize("rule", RULES)
    def test_rules(self, tiny_members: List[str], rule: str) -> None:
        model = build(tiny_members, rule=rule)
        reader = load_span_predictor(tiny_members[2])._dataset_reader
        answer = EnsemblePredictor(model, reader).predict_json(RECORD)
        expected = answer_by_hand(tiny_members, rule, RECORD)
        assert {key: answer[key] for key in expected} == expected

    def test_evaluate_scores_it_and_writes_its_answers(
        self, own_archive: Path, tmp_path: Path
    ) -> None:
        answers = tmp_path / "answers.jsonl"
        metrics = evaluate_from_archive(
            str(own_archive), str(TINY_SQUAD), predictions_output_file=str(answers)
        )
        assert sorted(metrics) == ["em", "f1"]
        records = [json.loads(line) for line in answers.read_text().splitlines()]
        assert [record["id"] for record in records] == [f"tiny-{n}" for n in range(1, 6)]
        predictor = Predictor.from_path(own_archive)
        for record, instance in zip(
            records, predictor._dataset_reader.read(TINY_SQUAD), strict=True
        ):
            confidence = pytest.approx(record.pop("confidence"), rel=1e-5)
            assert predictor.predict_instance(instance) == {**record, "confidence": confidence}

    def test_the_config_gathers_its_members(
        self, tiny_members: List[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = ROOT / "training_configs" / "bidaf_squad_ensemble.jsonnet"
        params = Params.from_file(path)
        assert len(params["model"]["members"]) == 12
        overrides = {"model.members": tiny_members, "train_data_path": "nowhere.json"}
        run = tmp_path / "run"
        train_model(Params.from_file(path, json.dumps(overrides)), str(run))
        # Elsewhere, without the members.
        archive = shutil.move(run / "model.tar.gz", tmp_path / "moved.tar.gz")
        shutil.rmtree(run)
        monkeypatch.setattr("bidaf_plugin.archives.ensemble.unpack_archive", None)
        answer = Predictor.from_path(archive).predict_json(RECORD)
        expected = answer_by_hand(tiny_members, "votes", RECORD)
        assert {key: answer[key] for key in expected} == expected

    def test_the_weights_are_stored_once(self, own_archive: Path, tiny_members: List[str]) -> None:
        sizes = sum(Path(member).stat().st_size for member in tiny_members)
        assert own_archive.stat().st_size < 1.2 * sizes
        model = load_archive(own_archive).model
        assert model.state_dict() == {}
        assert len(list(model.parameters())) > 10

    def test_no_answer(self, tiny_members: List[str], tmp_path: Path) -> None:
        params = tiny_params()
        params["model"]["output_layer"]["no_answer"] = True
        train_model(Params(params), str(tmp_path / "run"))
        members = [str(tmp_path / "run" / "model.tar.gz"), tiny_members[2]]
        reader = load_span_predictor(members[0])._dataset_reader
        model = build(members, rule="spans")
        answer = EnsemblePredictor(model, reader).predict_json(RECORD)
        alone = load_span_predictor(members[0]).predict_json(RECORD)
        # The other one says 0.
        assert answer["no_answer_probability"] == pytest.approx(
            alone["no_answer_probability"] / 2, rel=1e-4
        )
        for threshold in (0.0, 1.0):
            predictor = EnsemblePredictor(model, reader, no_answer_threshold=threshold)
            answer = predictor.predict_json(RECORD)
            assert (answer["best_span"] is None) == (threshold == 0)
            assert (answer["best_span_str"] == "") == (threshold == 0)
        model(**as_tensors(list(reader.read(TINY_SQUAD)), model.vocab))
        assert {"em", "f1", "has_answer_em"} <= set(model.get_metrics(reset=True))

    def test_what_cannot_be_put_together_is_refused(
        self, tiny_members: List[str], tiny_cloze_archive: Path, own_archive: Path, tmp_path: Path
    ) -> None:
        first = tiny_members[0]
        for members, message in (
            ([], "none is given"),
            ([first, first], "given twice"),
            ([first, str(tmp_path / "no.tar.gz")], "no.tar.gz"),
            ([first, str(tiny_cloze_archive)], "cloze|span"),
            ([first, str(own_archive)], "ensemble"),
        ):
            with pytest.raises(DataError, match=message):
                build(members)
        with pytest.raises(ConfigurationError, match="sum"):
            build([first], rule="sum")
        out = tmp_path / "out.tar.gz"
        with pytest.raises(DataError):
            write_ensemble_archive([first, str(tiny_cloze_archive)], "votes", str(out))
        assert not list(tmp_path.iterdir())
