from pathlib import Path

import pytest
from allennlp.common import Params

from bidaf_plugin.commands.table import count_parameters_by_layer, format_table
from bidaf_plugin.common.errors import DataError
from tests.commands.helpers import run_action
from tests.helpers import ROOT


class TestTable:
    def test_the_paper_s_model_has_about_2_6_million_parameters(self) -> None:
        config = Params.from_file(ROOT / "training_configs" / "bidaf_squad.jsonnet")
        counts = count_parameters_by_layer(config)
        d = 100
        lstm_direction = lambda size: 4 * d * (size + d + 2)  # noqa: E731
        assert counts == {
            "text_field_embedder": 100 * (5 * 8 + 1),
            "highway": 2 * (2 * d + 1) * 4 * d,
            "contextual_layer": 2 * lstm_direction(2 * d),
            "attention": 6 * d + 1,
            "modeling_layer": 2 * (lstm_direction(8 * d) + lstm_direction(2 * d)),
            "output_layer": 2 * lstm_direction(14 * d) + 2 * (10 * d + 1),
        }
        assert abs(sum(counts.values()) / 2.6e6 - 1) < 0.03

    def test_a_config_that_is_no_object(self, tmp_path: Path) -> None:
        path = tmp_path / "config.json"
        path.write_text('[{"model": {}}]')
        with pytest.raises(DataError, match=f"{path}: the config must be a JSON object"):
            run_action("table", path)

    def test_what_cannot_be_shown(self) -> None:
        config = ROOT / "training_configs" / "bidaf_squad.jsonnet"
        with pytest.raises(
            DataError, match="no key 'hidden_size'; choices, like hidden_size, stand"
        ):
            run_action("table", config, "-o", '{"hidden_size": 50}')
        with pytest.raises(DataError, match="training_configs: this is a folder"):
            run_action("table", ROOT / "training_configs")

    def test_rows_are_layers_and_columns_configs(self) -> None:
        table = format_table(["x/a.jsonnet", "b.jsonnet"], [{"one": 1000, "two": 2}, {"one": 5}])
        header, *rows = [line.split() for line in table.splitlines()]
        assert header == ["a.jsonnet", "b.jsonnet"]
        assert rows == [["one", "1,000", "5"], ["two", "2", "0"], ["total", "1,002", "5"]]
