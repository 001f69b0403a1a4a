import json
from pathlib import Path
from typing import Any, List

import pytest

from bidaf_plugin.analysis.variants import Measurement, read_measurements
from bidaf_plugin.commands.study import (
    PAPER_SCORES,
    find_variants,
    format_comparison,
    load_configs,
    train_variant,
    write_comparison,
)
from bidaf_plugin.common.errors import DataError
from tests.analysis.run_helpers import write_run
from tests.cloze_helpers import tiny_cloze_params
from tests.helpers import ROOT, tiny_params


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


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
            "allennlp.commands.train.train_model",
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

    @pytest.mark.parametrize("score", ["x", None, {}])
    def test_a_damaged_score_is_named(self, score: Any, tmp_path: Path) -> None:
        config = {"data_loader": {"batches_per_epoch": 2}}
        folder = write_run(tmp_path / "one", config=config)
        metrics = {"epoch": 0, "validation_loss": 1, "validation_em": 1, "validation_f1": score}
        (folder / "metrics_epoch_0.json").write_text(json.dumps(metrics))
        with pytest.raises(DataError, match="epoch_0.json: 'validation_f1' must be a number, fou"):
            read_measurements(str(tmp_path), "one")

    def test_a_config_without_steps_is_named(self, tmp_path: Path) -> None:
        write_run(tmp_path / "one", config={"data_loader": 1})
        with pytest.raises(DataError, match="one: its config has no number 'batches_per_epoch'"):
            read_measurements(str(tmp_path), "one")

    def test_the_table_is_ranked_and_has_the_paper_s_scores(self) -> None:
        curves = {
            name: [Measurement(name, 10, {"em": em, "f1": f1}, 1.0, "0:01")]
            for name, em, f1 in (("beta_mlp", 10.0, 20.0), ("mine", 11.0, 30.5))
        }
        rows = format_comparison(curves).splitlines()[2:]
        assert rows == [
            "| mine | 10 | 11.00 | 30.50 |  |  |",
            "| beta_mlp | 10 | 10.00 | 20.00 | 67.1 | 77.0 |",
        ]

    def test_the_budget_is_the_same_for_all(self, tmp_path: Path) -> None:
        train_variant(tiny_params(), str(tmp_path / "one"), 6, 3)
        config = json.loads((tmp_path / "one" / "config.json").read_text())
        assert config["data_loader"]["batches_per_epoch"] == 2
        assert config["trainer"]["num_epochs"] == config["trainer"]["patience"] == 3

    def test_cloze_models_are_compared_by_accuracy(self, tmp_path: Path) -> None:
        for variant, choices in (("windows", ""), ("whole", "window:: null")):
            train_variant(tiny_cloze_params(choices), str(tmp_path / variant), 2, 2)
        write_comparison(str(tmp_path), ["windows", "whole"])
        rows = (tmp_path / "comparison.csv").read_text().splitlines()
        assert rows[0] == "variant,step,accuracy,loss,training_duration"
        assert [row.split(",")[:2] for row in rows[1:]] == [
            ["windows", "1"],
            ["windows", "2"],
            ["whole", "1"],
            ["whole", "2"],
        ]
        table = (tmp_path / "comparison.md").read_text().splitlines()
        assert table[0] == "| variant | steps | accuracy |"
        accuracies = [float(row.split("|")[3]) for row in table[2:]]
        last = [read_measurements(str(tmp_path), name)[-1] for name in ("windows", "whole")]
        expected = sorted((measured.scores["accuracy"] for measured in last), reverse=True)
        assert accuracies == pytest.approx(expected, abs=0.005)

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
