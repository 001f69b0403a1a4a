import json
from pathlib import Path
from typing import Any, Callable, Dict

import pytest
from allennlp.common import Params
from allennlp.data import BatchSampler

from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import ROOT, build_model, read_tiny, tiny_params

CONFIGS = sorted((ROOT / "training_configs").glob("**/*.jsonnet"))


def load(name: str) -> Dict[str, Any]:
    return Params.from_file(ROOT / "training_configs" / name).as_dict(quiet=True)


class TestTrainingConfigs:
    def test_the_paper_s_recipe(self) -> None:
        params = load("bidaf_squad.jsonnet")
        assert params["trainer"]["optimizer"] == {
            "type": "adadelta",
            "lr": 0.5,
            "rho": 0.95,
            "eps": 1e-8,
        }
        assert params["trainer"]["num_epochs"] == 12
        assert params["trainer"]["moving_average"] == {"type": "exponential", "decay": 0.999}
        assert params["data_loader"]["batch_sampler"]["batch_size"] == 60
        assert params["model"]["dropout"] == 0.2
        assert params["dataset_reader"]["max_passage_length"] == 400
        for limit in ("max_passage_length", "max_question_length"):
            assert limit not in params["validation_dataset_reader"]

    def test_batches_by_count_and_by_tokens(self) -> None:
        params = tiny_params("batch_size:: 30, max_tokens_per_batch:: 9000, group_passages:: true")
        assert params["data_loader"]["batch_sampler"] == {
            "type": "bidaf_bucket",
            "batch_size": 30,
            "max_tokens": 9000,
            "group_passages": True,
            "shuffle": True,
        }
        for_validation = params["validation_data_loader"]["batch_sampler"]
        assert for_validation["batch_size"] == 120
        assert not for_validation["shuffle"]
        for loader in ("data_loader", "validation_data_loader"):
            BatchSampler.from_params(Params(params[loader]["batch_sampler"]))

    def test_a_cache_of_tokens_can_be_chosen(self, tmp_path: Path) -> None:
        params = tiny_params(f"cache_dir:: '{tmp_path}'")
        assert len(read_tiny(params)) == 5
        assert len(list(tmp_path.iterdir())) == 1
        assert "cache_dir" not in tiny_params()["dataset_reader"]

    def test_one_edit_changes_all_sizes(self) -> None:
        params = tiny_params("hidden_size:: 7, num_filters:: 9, end_input:: 'paper_text'")
        build_model(params, read_tiny(params))
        assert params["model"]["modeling_layer"]["input_size"] == 8 * 7

    def test_squad_2_is_one_choice(self) -> None:
        assert "no_answer" not in load("bidaf_squad.jsonnet")["model"]["output_layer"]
        params = load("bidaf_squad2.jsonnet")
        assert params["model"]["output_layer"]["no_answer"] is True
        assert params["train_data_path"].endswith("train-v2.0.json")

    @pytest.mark.parametrize("attention", ["static", "dynamic"])
    def test_allennlp_s_lstm_can_be_chosen(self, attention: str) -> None:
        params = tiny_params(f"lstm:: 'lstm', attention:: '{attention}'")
        build_model(params, read_tiny(params))

    @pytest.mark.parametrize("name", ["bidaf_cnn.jsonnet", "bidaf_dailymail.jsonnet"])
    def test_the_paper_s_recipe_for_cloze_questions(self, name: str) -> None:
        params = load(name)
        assert params["trainer"]["optimizer"] == load("bidaf_squad.jsonnet")["trainer"]["optimizer"]
        assert params["trainer"]["num_epochs"] == 8
        assert params["trainer"]["validation_metric"] == "+accuracy"
        sampler = params["data_loader"]["batch_sampler"]
        assert sampler["batch_size"] == 48
        # Questions of the Daily Mail have 59 windows on average: batches must not be cut.
        assert sampler["max_windows"] > 1.3 * 48 * 59
        assert params["dataset_reader"]["window"] == 19
        assert params["model"]["output_layer"]["type"] == "cloze"
        assert "distributed" not in params

    def test_processes_share_a_batch_of_cloze_questions(self) -> None:
        params = tiny_cloze_params("batch_size:: 48, distributed: { cuda_devices: [-1, -1] }")
        assert params["data_loader"]["batch_sampler"]["batch_size"] == 48 // 2
        params = tiny_cloze_params(
            "batch_size:: 48, distributed: { cuda_devices: [0, 1, 2, 3], num_nodes: 2 }"
        )
        assert params["data_loader"]["batch_sampler"]["batch_size"] == 48 // (4 * 2)

    @pytest.mark.parametrize("make", [tiny_params, tiny_cloze_params])
    def test_misspelt_choices_are_an_error(self, make: Callable[[str], Dict[str, Any]]) -> None:
        with pytest.raises(RuntimeError, match="there is no choice hiden_size; .*, hidden_size, "):
            make("hiden_size:: 7")
        # Keys of the experiment are AllenNLP's matter.
        assert make("evaluate_on_test: true")["evaluate_on_test"] is True
        is_cloze = make is tiny_cloze_params
        with pytest.raises(RuntimeError, match=", window, " if is_cloze else "choice window; "):
            make("windows:: 5" if is_cloze else "window:: 5")

    @pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
    def test_every_config_is_well_formed(self, path: Path) -> None:
        params = json.loads(json.dumps(Params.from_file(path).as_dict(quiet=True)))
        assert {"dataset_reader", "train_data_path", "model", "trainer"} <= set(params)
