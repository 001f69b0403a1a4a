import json
from pathlib import Path
from typing import Any

import numpy
import pytest
from allennlp.common import Params

from bidaf_plugin.analysis.attention import AttentionSummary
from bidaf_plugin.analysis.files import read_gold_paragraphs
from bidaf_plugin.analysis.run_report import (
    count_parameters,
    count_parameters_by_layer,
    draw_charts,
    format_table,
    list_facts,
    report_answers,
    report_as_html,
    tabulate_epochs,
)
from bidaf_plugin.analysis.training_run import read_run
from tests.analysis.run_helpers import write_run
from tests.analysis.squad_helpers import PASSAGE, squad, write
from tests.helpers import ROOT, tiny_params
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium


def write_hostile_data(folder: Path) -> str:
    text = {"text": "Ada Orn", "answer_start": 0}
    questions = [
        {"id": HOSTILE, "question": HOSTILE, "answers": [text]},
        {"id": "b", "question": "Who?", "answers": [text]},
    ]
    data = squad(*questions)
    data["data"][0]["paragraphs"][0]["context"] = PASSAGE + HOSTILE
    return write(folder / "data.json", data)


def hostile_page(folder: Path) -> str:
    paragraphs = read_gold_paragraphs(write_hostile_data(folder))
    answers = report_answers(HOSTILE, paragraphs, {HOSTILE: HOSTILE, "b": "Ada Orn"})
    attention = AttentionSummary([(HOSTILE, 0.5), (HOSTILE, 0.0)], [(HOSTILE, [HOSTILE])])
    answers = answers._replace(attention={HOSTILE: attention})
    log = f"2026-01-01 10:00:01,1 - WARNING - {HOSTILE}\n"
    config = {**tiny_params(), "train_data_path": HOSTILE}
    run = write_run(folder / "<b>", config=config, log=log)
    metrics = {"epoch": 3, "best_epoch": 1, f"training_{HOSTILE}": 1.0}
    (run / "metrics_epoch_3.json").write_text(json.dumps(metrics))
    return report_as_html(read_run(str(run)), answers)


class TestReport:
    def test_the_data_behind_the_curves(self, tmp_path: Path) -> None:
        charts = draw_charts(read_run(str(write_run(tmp_path / "run"))))
        assert [label for label, _ in charts] == ["loss", "F1"]
        (loss,), (f1,) = (figure.axes for _, figure in charts)
        assert [line.get_label() for line in loss.lines] == ["training", "validation"]
        (curve,) = f1.lines
        assert numpy.asarray(curve.get_xydata()).tolist() == [[0, 10], [1, 30], [2, 20]]
        # It has the same colour as in the other chart.
        assert curve.get_color() == loss.lines[1].get_color()

    def test_metrics_by_epoch(self, tmp_path: Path) -> None:
        rows = tabulate_epochs(read_run(str(write_run(tmp_path / "run"))))
        assert rows[0] == ("epoch", "training loss", "validation loss", "validation F1", "time")
        assert rows[2] == ("1 (best)", "2", "2.5", "30", "0:01:30")
        assert [row[0] for row in rows[1:]] == ["0", "1 (best)", "2"]

    def test_facts_of_a_run_in_progress_and_of_one_that_has_ended(self, tmp_path: Path) -> None:
        facts = dict(list_facts(read_run(str(write_run(tmp_path / "a")))))
        assert facts["state"] == "in progress, or interrupted"
        assert facts["epochs"] == "3 of at most 1" and facts["best epoch"] == "1 (F1 30)"
        assert facts["training time"] == "0:02:30" and facts["largest memory"] == "1,234 MB"
        assert facts["optimizer"].startswith("adam, lr ")
        ended = write_run(tmp_path / "b", metrics={"training_duration": "1:00:00.1"})
        facts = dict(list_facts(read_run(str(ended))))
        assert facts["state"] == "ended" and facts["training time"] == "1:00:00"

    @pytest.mark.parametrize(
        "trainer, optimizer",
        [
            ({"optimizer": "adam"}, "adam"),
            ({"optimizer": {"lr": 1}}, ", lr 1"),
            ({}, ""),
            ("x", ""),
        ],
    )
    def test_the_optimizer_of_any_config(
        self, trainer: Any, optimizer: str, tmp_path: Path
    ) -> None:
        folder = write_run(tmp_path / "run", config={"trainer": trainer})
        assert dict(list_facts(read_run(str(folder))))["optimizer"] == optimizer

    def test_texts_where_numbers_belong_are_not_shown(self, tmp_path: Path) -> None:
        folder = write_run(
            tmp_path / "run", metrics={"peak_worker_0_memory_MB": "x"}, config={"model": {}}
        )
        (folder / "metrics_epoch_3.json").write_text('{"epoch": 3, "training_loss": "x"}')
        run = read_run(str(folder))
        assert tabulate_epochs(run)[4] == ("3", "", "", "", "")
        assert "largest memory" not in dict(list_facts(run))

    def test_a_run_that_has_just_begun(self, tmp_path: Path) -> None:
        page = Page(report_as_html(read_run(str(write_run(tmp_path / "run", num_epochs=0)))))
        assert "No epoch has ended yet." in page.texts["p"]
        assert page.count("svg") == 0 and "Sample answers" not in page.texts["h2"]

    def test_parameters_by_layer(self) -> None:
        rows, reason = count_parameters(tiny_params())
        assert reason == ""
        counts = {layer: int(count.replace(",", "")) for layer, count in rows}
        d = 5
        assert counts["attention"] == 6 * d + 1
        assert counts.pop("in all") == sum(counts.values())

    def test_a_model_that_is_not_known(self, tmp_path: Path) -> None:
        config = {"model": {"type": "<i>unknown</i>"}}
        rows, reason = count_parameters(config)
        assert rows == [] and "<i>unknown</i>" in reason
        page = Page(report_as_html(read_run(str(write_run(tmp_path / "run", config=config)))))
        assert page.count("i") == 0

    def test_answers_and_errors(self, tmp_path: Path) -> None:
        paragraphs = read_gold_paragraphs(write_hostile_data(tmp_path))
        answers = report_answers("dev", paragraphs, {HOSTILE: "Ada", "b": "Ada Orn"})
        assert answers.scores["exact_match"] == 50
        assert ("who", "1", "100.00", "100.00") in answers.breakdown["first word"]
        assert (answers.num_wrong, answers.num_overlapping) == (1, 1)
        assert [question.id for question in answers.wrong] == [HOSTILE]
        assert len(answers.sample) == 2

    def test_text_is_no_markup(self, tmp_path: Path) -> None:
        page = Page(hostile_page(tmp_path))
        page.assert_loads_nothing()
        assert page.count("script") == 0
        for tag in ("h3", "mark", "span", "dt", "dd", "b"):
            assert HOSTILE in page.texts[tag], tag
        assert page.texts["title"][0] == "Training run <b>"
        assert page.count("svg") == 3

    @needs_chromium
    def test_in_the_browser(self, tmp_path: Path) -> None:
        path = tmp_path / "report.html"
        path.write_text(hostile_page(tmp_path), encoding="utf-8")
        page, complaints = open_in_chromium(path)
        assert complaints == "" and page.texts["title"][0] == "Training run <b>"


class TestParameters:
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

    def test_rows_are_layers_and_columns_configs(self) -> None:
        table = format_table(["x/a.jsonnet", "b.jsonnet"], [{"one": 1000, "two": 2}, {"one": 5}])
        header, *rows = [line.split() for line in table.splitlines()]
        assert header == ["a.jsonnet", "b.jsonnet"]
        assert rows == [["one", "1,000", "5"], ["two", "2", "0"], ["total", "1,002", "5"]]
