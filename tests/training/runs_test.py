import json
from pathlib import Path
from typing import Any, Dict, List

import pytest

from bidaf_plugin.analysis.reproduction import PAPER_SCORES, write_comparison
from bidaf_plugin.analysis.variants import read_measurements
from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.training.runs import (
    find_variants,
    load_configs,
    make_config,
    train_runs,
    train_variant,
)
from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import ROOT, tiny_params

CONFIG = str(ROOT / "training_configs" / "bidaf_squad_adam.jsonnet")


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


class TestMakeConfig:
    def test_files_of_a_folder(self, tmp_path: Path) -> None:
        names = ("squad/train-v1.1.json.gz", "squad/dev-v1.1.json", "glove/glove.6B.100d.txt.gz")
        for name in names:
            with pytest.raises(DataError, match="plain or gzipped"):
                make_config(CONFIG, data=str(tmp_path))
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        config = make_config(CONFIG, data=str(tmp_path))
        train_path, dev_path, glove = (str(tmp_path / name) for name in names)
        assert config["train_data_path"] == train_path
        assert config["validation_data_path"] == dev_path
        assert config["vocabulary"]["pretrained_files"] == {"tokens": glove}
        embedders = config["model"]["text_field_embedder"]["token_embedders"]
        assert embedders["tokens"]["pretrained_file"] == glove

    def test_a_model_that_can_say_that_there_is_no_answer_has_files_of_its_own(
        self, tmp_path: Path
    ) -> None:
        names = ("squad/train-v2.0.json.gz", "squad/dev-v2.0.json", "glove/glove.6B.100d.txt")
        for name in (*names, "squad/train-v1.1.json", "squad/dev-v1.1.json"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        config = make_config("training_configs/bidaf_squad2.jsonnet", data=str(tmp_path))
        assert config["train_data_path"] == str(tmp_path / names[0])
        assert config["validation_data_path"] == str(tmp_path / names[1])

    def test_a_recipe_changes_the_choices_of_a_config(self) -> None:
        variants, lib = ROOT / "training_configs" / "variants", ROOT / "training_configs" / "lib"
        variant = str(variants / "alpha_dot.jsonnet")
        config = make_config(variant, recipe=str(lib / "recipe.libsonnet"))
        assert config["model"]["attention"]["similarity"] == {"type": "dot_product"}
        assert config["trainer"]["optimizer"] == {"type": "adam", "lr": 0.002}
        # `$` means the whole: the config follows from what the recipe has chosen.
        assert config["trainer"]["patience"] == config["trainer"]["num_epochs"] == 3
        assert make_config(variant)["trainer"]["optimizer"]["type"] == "adadelta"

    def test_a_variant_without_words_needs_no_vectors(self, tmp_path: Path) -> None:
        for name in ("squad/train-v1.1.json", "squad/dev-v1.1.json", "glove/glove.6B.100d.txt"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).touch()
        variant = ROOT / "training_configs" / "variants" / "no_word_embedding.jsonnet"
        config = make_config(str(variant), data=str(tmp_path))
        assert config["train_data_path"] == str(tmp_path / "squad/train-v1.1.json")
        assert "glove" not in json.dumps(config)

    def test_bad_input(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="root of the repository"):
            make_config(str(tmp_path / "no.jsonnet"))
        with pytest.raises(DataError, match="no.libsonnet is not here"):
            make_config(CONFIG, recipe=str(tmp_path / "no.libsonnet"))
        with pytest.raises(DataError, match="1 or more, not 0"):
            make_config(CONFIG, steps_per_score=0)


class TestStudy:
    def test_variants_are_files_folders_or_names(self) -> None:
        everything = find_variants(["training_configs/variants"])
        assert set(PAPER_SCORES) <= set(everything)
        named = find_variants(["beta_mlp", "training_configs/variants/alpha_dot.jsonnet"])
        assert list(named) == ["beta_mlp", "alpha_dot"]

    def test_an_unknown_variant_lists_the_known_ones(self) -> None:
        with pytest.raises(DataError, match="'gamma'.*alpha_bilinear.*two_hops"):
            find_variants(["gamma"])

    def test_trains_resumes_and_compares(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for variant, choices in (("one", ""), ("two", "beta:: 'mlp'")):
            train_variant(tiny_params(choices), str(tmp_path / variant), 4, 2)
        curve = read_measurements(str(tmp_path), "one")
        assert [measurement.step for measurement in curve] == [2, 4]

        # An interrupted run goes on, a finished one is left alone.
        (tmp_path / "one" / "metrics.json").unlink()
        calls: List[bool] = []
        monkeypatch.setattr(
            "bidaf_plugin.training.runs.train_model",
            lambda params, folder, recover, **kwargs: calls.append(recover),
        )
        (tmp_path / "four").mkdir()
        for variant, choices in (("one", ""), ("two", "beta:: 'mlp'"), ("three", ""), ("four", "")):
            train_variant(tiny_params(choices), str(tmp_path / variant), 4, 2)
        assert calls == [True, False, False]

        # What was begun with other settings does not pass for the same.
        for choices, steps in (("alpha:: 'dot'", 4), ("beta:: 'mlp'", 6)):
            with pytest.raises(DataError, match="two was begun with other settings"):
                train_variant(tiny_params(choices), str(tmp_path / "two"), steps, 2)

        write_comparison(str(tmp_path), ["one", "two", "three"])
        rows = (tmp_path / "comparison.csv").read_text().splitlines()
        assert len(rows) == 1 + 2 * 2
        assert rows[0].startswith("variant,step,em,f1")
        for name in ("comparison.md", "comparison.png", "comparison.svg"):
            assert (tmp_path / name).stat().st_size > 100

    def test_the_budget_is_the_same_for_all(self, tmp_path: Path) -> None:
        train_variant(tiny_params(), str(tmp_path / "one"), 6, 3)
        config = json.loads((tmp_path / "one" / "config.json").read_text())
        assert config["data_loader"]["batches_per_epoch"] == 2
        assert config["trainer"]["num_epochs"] == config["trainer"]["patience"] == 3

    def test_what_is_wrong_with_the_last_config_is_said_first(self, tmp_path: Path) -> None:
        paths = {}
        for name, config in (
            ("span", tiny_params()),
            ("cloze", tiny_cloze_params()),
            ("none", {"model": {}, "trainer": {}}),
            ("list", []),
            ("string", {"model": {}, "trainer": "x", "data_loader": {}}),
            ("bare", {"model": {"output_layer": "cloze"}, "trainer": {}, "data_loader": {}}),
        ):
            paths[name] = str(tmp_path / f"{name}.json")
            Path(paths[name]).write_text(json.dumps(config))
        with pytest.raises(DataError, match=r"'span' \(span\) and 'cloze' \(cloze\)"):
            load_configs({name: paths[name] for name in ("span", "cloze")})
        with pytest.raises(DataError, match="none.json: the config has no key 'data_loader'"):
            load_configs({name: paths[name] for name in ("span", "none")})
        with pytest.raises(DataError, match="list.json: the config must be a JSON object"):
            load_configs({name: paths[name] for name in ("span", "list")})
        with pytest.raises(DataError, match="string.json: 'trainer' must be an object"):
            load_configs({name: paths[name] for name in ("span", "string")})
        with pytest.raises(DataError, match=r"'span' \(span\) and 'cloze' \(bare\)"):
            load_configs({name: paths[name] for name in ("span", "bare")})
        assert load_configs({"span": paths["span"]}) == {"span": tiny_params()}


class TestEnsemble:
    def test_runs_differ_in_their_seeds_only(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        configs: Dict[str, Dict[str, Any]] = {}
        monkeypatch.setattr(
            "bidaf_plugin.training.runs.train_or_resume",
            lambda config, folder: configs.update({Path(folder).name: config}),
        )
        config = tiny_params("seed:: 5")
        archives = train_runs(config, str(tmp_path), 3)
        assert archives == [str(tmp_path / name / "model.tar.gz") for name in configs]
        assert list(configs) == ["run_1", "run_2", "run_3"]
        assert configs["run_1"] == config
        for number, seeded in enumerate(configs.values()):
            keys = ("random_seed", "numpy_seed", "pytorch_seed")
            assert {seeded[key] for key in keys} == {5 + number}
            assert {**seeded, **{key: config[key] for key in keys}} == config

    @pytest.mark.parametrize("is_half_written", [True, False])
    def test_an_archive_that_was_not_finished_is_made_anew(
        self, tmp_path: Path, is_half_written: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (archive,) = train_runs(tiny_params(), str(tmp_path), 1)
        content = Path(archive).read_bytes()
        if is_half_written:
            Path(archive).write_bytes(content[: len(content) // 2])
        else:
            Path(archive).unlink()
        monkeypatch.setattr("bidaf_plugin.training.runs.train_model", None)
        train_runs(tiny_params(), str(tmp_path), 1)
        assert load_span_predictor(archive).predict("Who?", "It was Ada.")["best_span_str"]
        # What is whole is left alone.
        modified = Path(archive).stat().st_mtime_ns
        train_runs(tiny_params(), str(tmp_path), 1)
        assert Path(archive).stat().st_mtime_ns == modified
