import json
from functools import lru_cache
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List

import _jsonnet
import pytest
import torch
from allennlp.commands.evaluate import evaluate_from_archive
from allennlp.commands.train import TrainModel, train_model
from allennlp.common import Params
from allennlp.data import BatchSampler
from allennlp.predictors import Predictor
from allennlp.training.learning_rate_schedulers import LearningRateScheduler

from bidaf_plugin.modules import FixedAndTrainedEmbedder
from tests.analysis.squad_helpers import PASSAGE, question, squad, write
from tests.cloze_helpers import question_text, tiny_cloze_params, write_folder
from tests.helpers import ROOT, build_model, read_tiny, tiny_params

CONFIGS = sorted((ROOT / "training_configs").glob("**/*.jsonnet"))


def load(name: str) -> Dict[str, Any]:
    return Params.from_file(ROOT / "training_configs" / name).as_dict(quiet=True)


@lru_cache
def read_choices(path: Path) -> Dict[str, Any]:
    """The choices of a config file with their values: its hidden fields, as far as they are choices."""
    return json.loads(
        _jsonnet.evaluate_snippet(
            "choices",
            f"""
            local config = import '{path}';
            {{
              [name]: config[name]
              for name in std.objectFieldsAll(config)
              if !std.objectHas(config, name) && !std.member(['known_choices', 'idle_choices', 'errors'], name)
            }}""",
        )
    )


def other_value(name: str, value: Any) -> Any:
    """A value of a choice that is not `value`: that of another config, if there is one."""
    for path in CONFIGS:
        choices = read_choices(path)
        if name in choices and choices[name] != value:
            return choices[name]
    if isinstance(value, bool):
        return not value
    if isinstance(value, list):
        return value[1:]
    if isinstance(value, dict):
        return {"joined": 0.5}
    return 7 if value is None else value + type(value)(1)


def prepare_training(params: Dict[str, Any], folder: Path) -> TrainModel:
    """What `allennlp train` makes of an experiment before the first step."""
    for_others = ("evaluation", "numpy_seed", "pytorch_seed", "random_seed")
    params = {key: value for key, value in params.items() if key not in for_others}
    return TrainModel.from_params(
        params=Params(params), serialization_dir=str(folder), local_rank=0
    )


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

    def test_the_recipe_for_small_cloze_data_lowers_the_learning_rate_when_nothing_is_gained(
        self,
    ) -> None:
        lib = ROOT / "training_configs" / "lib"
        source = f"(import '{lib}/cloze.libsonnet') + (import '{lib}/cloze_recipe.libsonnet')"
        params = Params(json.loads(_jsonnet.evaluate_snippet("recipe", source))["trainer"])
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimizer = torch.optim.Adam([parameter], lr=params["optimizer"]["lr"])
        scheduler = LearningRateScheduler.from_params(
            params["learning_rate_scheduler"], optimizer=optimizer
        )
        rates = []
        # A start as late as the third epoch has the whole learning rate.
        for accuracy in (30.0, 31.0, 60.0, 59.0, 61.0):
            scheduler.step(accuracy)
            rates.append(optimizer.param_groups[0]["lr"])
        assert rates == pytest.approx([0.002, 0.002, 0.002, 0.0006, 0.0006])
        assert params["patience"] > 1

    def test_processes_share_a_batch_of_cloze_questions(self) -> None:
        params = tiny_cloze_params("batch_size:: 48, distributed: { cuda_devices: [-1, -1] }")
        assert params["data_loader"]["batch_sampler"]["batch_size"] == 48 // 2
        params = tiny_cloze_params(
            "batch_size:: 48, distributed: { cuda_devices: [0, 1, 2, 3], num_nodes: 2 }"
        )
        assert params["data_loader"]["batch_sampler"]["batch_size"] == 48 // (4 * 2)

    def test_the_learning_rate_of_the_short_recipe_falls_until_the_last_step(
        self, tmp_path: Path
    ) -> None:
        choices = "batch_size:: 2, num_epochs:: 7, optimizer:: { type: 'adam', lr: 0.02 }"
        params = tiny_params(choices, "bidaf_squad_short.jsonnet")
        assert params["trainer"]["patience"] == 7
        scheduler = prepare_training(params, tmp_path).trainer._learning_rate_scheduler
        # Five questions are three batches.
        assert scheduler.total_steps == 7 * 3
        assert scheduler.end_learning_rate == pytest.approx(0.001)

    def test_choices_of_span_experiments_are_refused_in_cloze_ones(self) -> None:
        for choice in ("no_answer:: true", "validation_batch_size:: 7"):
            name = choice.partition("::")[0]
            with pytest.raises(RuntimeError, match=f"{name} must keep its .* a cloze experiment"):
                tiny_cloze_params(choice)
        with pytest.raises(RuntimeError, match="no choice max_windos; .*, max_windows, ") as raised:
            tiny_cloze_params("max_windos:: 7")
        assert "no_answer" not in str(raised.value)

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
    def test_every_choice_changes_the_experiment_or_is_refused(self, path: Path) -> None:
        others = {name: other_value(name, value) for name, value in read_choices(path).items()}
        # All in one go, since jsonnet takes long to start.
        snippet = f"""
            local config = import '{path}';
            local others = {json.dumps(others)};
            {{
              [name]:
                local changed = config {{ [name]:: others[name] }};
                local errors = std.get(changed, 'errors', []);
                if std.length(errors) > 0 then errors else changed
              for name in std.objectFields(others)
            }}"""
        unchanged = json.loads(_jsonnet.evaluate_file(str(path)))
        outcomes = json.loads(_jsonnet.evaluate_snippet("changed", snippet))
        assert set(outcomes) == set(others) != set()
        for name, outcome in outcomes.items():
            if isinstance(outcome, list):
                assert name in " ".join(outcome)
            else:
                assert outcome != unchanged, name

    @pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.name)
    def test_every_config_is_well_formed(self, path: Path) -> None:
        params = json.loads(json.dumps(Params.from_file(path).as_dict(quiet=True)))
        assert {"dataset_reader", "train_data_path", "model", "trainer"} <= set(params)


# Words that only the data for evaluation has: a tramway, of which there is a vector, and a zorble.
TRAMWAY = [0.5, 1.5, 2.5, 3.5, 4.5, 5.5]
OTHER_QUESTION = "Who built the tramway zorble?"


@pytest.fixture
def vectors(tmp_path: Path) -> Path:
    rows = {"the": [1.0] * 6, "mill": [2.0] * 6, "tramway": TRAMWAY, "seldom": [4.0] * 6}
    path = tmp_path / "vectors.txt"
    path.write_text("".join(f"{word} {' '.join(map(str, row))}\n" for word, row in rows.items()))
    return path


@pytest.fixture
def squad_params(tmp_path: Path, vectors: Path) -> Dict[str, Any]:
    train = write(tmp_path / "train.json", squad(question("1")))
    dev = write(tmp_path / "dev.json", squad(question("2", text=OTHER_QUESTION)))
    return tiny_params(f"train_data:: '{train}', dev_data:: '{dev}', glove:: '{vectors}'")


@pytest.fixture
def embedded() -> Iterator[List[str]]:
    """Which words of interest have been embedded since the list was emptied."""
    found: List[str] = []

    def look(module: torch.nn.Module, _: Any, output: torch.Tensor) -> None:
        if isinstance(module, FixedAndTrainedEmbedder):
            unknown = module.trained[0].detach()
            for name, vector in (("tramway", torch.tensor(TRAMWAY)), ("unknown", unknown)):
                if (output == vector).all(-1).any():
                    found.append(name)

    handle = torch.nn.modules.module.register_module_forward_hook(look)
    yield found
    handle.remove()


class TestVocabulary:
    def test_is_made_of_the_training_data_and_all_word_vectors(
        self, squad_params: Dict[str, Any], tmp_path: Path
    ) -> None:
        model = prepare_training(squad_params, tmp_path / "run").model
        words = model.vocab.get_token_to_index_vocabulary("tokens")
        assert {"mill", "quay", "tramway", "seldom"} <= set(words)
        assert "zorble" not in words
        # The distinct words of the training data, but "the" and "mill"; and the unknown word.
        alone = {"ada", "orn", "built", "in", "1871", ".", "it", "burned", "down", "twice"}
        alone |= {"jon", "ber", "paid", "for", "quay", "who", "?"}
        embedder = model._text_field_embedder.token_embedder_tokens
        assert len(embedder.trained) == len(alone) + 1
        # The most frequent words of the training data come first, so that `compact` keeps them.
        assert words["tramway"] > max(words[word] for word in alone)

    def test_the_vectors_of_the_most_frequent_words_of_questions_are_tuned(
        self, squad_params: Dict[str, Any], vectors: Path, tmp_path: Path
    ) -> None:
        files = {key: squad_params[f"{key}_path"] for key in ("train_data", "validation_data")}
        # "Who", "built", "the" and "mill" are the words of the question that come first.
        params = tiny_params(
            f"train_data:: '{files['train_data']}', dev_data:: '{files['validation_data']}', "
            f"glove:: '{vectors}', tuned_question_words:: 4, num_epochs:: 2"
        )
        trained = train_model(Params(params), str(tmp_path / "run")).eval()
        words = trained.vocab.get_token_to_index_vocabulary("question_tokens")
        tuned = {"the", "mill"} & set(words)
        assert len(words) == 4 + 2 and tuned
        loaded = Predictor.from_path(str(tmp_path / "run" / "model.tar.gz"))._model
        rows = {"the": 1.0, "mill": 2.0, "tramway": None}
        for model in (trained, loaded):
            embedder = model._text_field_embedder.token_embedder_tokens
            for word, start in rows.items():
                vector = embedder(torch.tensor([[model.vocab.get_token_index(word)]])).flatten()
                expected = torch.tensor(TRAMWAY if start is None else [start] * 6)
                assert torch.equal(vector, expected) == (word not in tuned), word

    def test_words_of_other_data_have_their_vector_or_the_unknown_word_s(
        self, squad_params: Dict[str, Any], embedded: List[str], tmp_path: Path
    ) -> None:
        dev = squad_params["validation_data_path"]
        train_model(Params(squad_params), str(tmp_path / "run"))
        assert {*embedded} == {"tramway", "unknown"}
        archive = str(tmp_path / "run" / "model.tar.gz")

        embedded.clear()
        evaluate_from_archive(archive, dev)
        assert {*embedded} == {"tramway", "unknown"}

        embedded.clear()
        predictor = Predictor.from_path(archive)
        predictor.predict_json({"question": OTHER_QUESTION, "passage": PASSAGE})
        assert {*embedded} == {"tramway", "unknown"}

    def test_of_cloze_questions_is_made_in_the_same_way(
        self, vectors: Path, tmp_path: Path
    ) -> None:
        train = write_folder(tmp_path / "train", 1)
        other = question_text(question="@placeholder met the tramway zorble")
        dev = write_folder(tmp_path / "dev", 0, {"other.question": other})
        params = tiny_cloze_params(
            f"train_data:: '{train}', dev_data:: '{dev}', glove:: '{vectors}'"
        )
        model = prepare_training(params, tmp_path / "run").model
        words = model.vocab.get_token_to_index_vocabulary("tokens")
        assert {"lives", "tramway", "seldom"} <= set(words)
        assert "zorble" not in words
        # "met", "in", ",", "where" and "lives"; the unknown word, the placeholder, 20 entities.
        embedder = model._text_field_embedder.token_embedder_tokens
        assert len(embedder.trained) == 5 + 1 + 1 + 20
