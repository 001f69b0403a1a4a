import json
from pathlib import Path
from typing import Any, List

import pytest
from allennlp.commands import main

from bidaf_plugin.analysis.answering import find_best_spans
from bidaf_plugin.analysis.files import read_paragraphs, write_nbest
from bidaf_plugin.archives import load_span_predictor
from bidaf_plugin.common.errors import DataError
from tests.helpers import ROOT, TINY_SQUAD


@pytest.fixture(autouse=True)
def in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> None:
    monkeypatch.setattr("sys.argv", ["allennlp", "bidaf", "ensemble", *map(str, arguments)])
    main()


class TestEnsemble:
    def test_writes_predictions_and_prints_scores(
        self,
        tiny_members: List[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        out = tmp_path / "predictions.json"
        run(monkeypatch, *tiny_members, "--data", TINY_SQUAD, "-o", out)
        predictions = json.loads(out.read_text())
        assert list(predictions) == [f"tiny-{number}" for number in range(1, 6)]
        shown = capsys.readouterr().out
        for name in (*tiny_members, "votes"):
            assert f"\n{name} " in shown

        run(
            monkeypatch, *tiny_members, "--data", TINY_SQUAD, "-o", out, "--rule", "all",
            "--one-at-a-time",
        )  # fmt: skip
        names = sorted(path.name for path in tmp_path.iterdir())
        rules = ["mean", "product", "spans", "votes"]
        assert names == ["predictions.json"] + [f"predictions.{rule}.json" for rule in rules]
        assert json.loads((tmp_path / "predictions.votes.json").read_text()) == predictions
        shown = capsys.readouterr().out
        assert all(f"\n{rule} " in shown for rule in rules)

    def test_writes_an_archive(
        self, tiny_members: List[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        archive, out = tmp_path / "all.tar.gz", tmp_path / "predictions.json"
        run(
            monkeypatch, *tiny_members, "--archive", archive, "--rule", "spans",
            "--data", TINY_SQUAD, "-o", out,
        )  # fmt: skip
        predictor = load_span_predictor(str(archive))
        answers = {
            instance["metadata"]["id"]: predictor.predict_instance(instance)["best_span_str"]
            for instance in predictor._dataset_reader.read(TINY_SQUAD)
        }
        assert answers == json.loads(out.read_text())

    def test_files_of_n_best_answers_in_place_of_models(
        self,
        tiny_members: List[str],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        paragraphs = read_paragraphs(TINY_SQUAD)
        files = [tmp_path / f"{number}.nbest.json.gz" for number in range(len(tiny_members))]
        for member, path in zip(tiny_members, files, strict=True):
            write_nbest(path, find_best_spans(load_span_predictor(member), paragraphs))
        of_models, of_files = tmp_path / "models.json", tmp_path / "files.json"
        run(monkeypatch, *tiny_members, "--data", TINY_SQUAD, "-o", of_models)
        run(
            monkeypatch, *files, "--data", TINY_SQUAD, "-o", of_files, "--by-number", tmp_path / "n"
        )
        assert (tmp_path / "n" / "models.png").exists()
        assert json.loads(of_files.read_text()) == json.loads(of_models.read_text())
        capsys.readouterr()
        run(monkeypatch, *files, "--data", TINY_SQUAD, "--rule", "all")
        shown = capsys.readouterr().out
        assert "\nvotes " in shown and "\nspans " in shown and "mean" not in shown
        assert "% of the probability" in shown
        for arguments, fault in (
            ([files[0], tiny_members[0], "--data", TINY_SQUAD], "is no file of n-best answers"),
            (
                [*files, "--data", TINY_SQUAD, "--rule", "mean"],
                "no rule 'mean'; known are: votes, spans",
            ),
            ([*files, "--archive", tmp_path / "x.tar.gz"], "--archive is for archives"),
            ([*files], "give the questions with --data"),
            ([*files, "--by-number", tmp_path], "--by-number needs questions with answers"),
            ([*tiny_members, "--data", TINY_SQUAD, "--by-number", tmp_path], "for files of n-best"),
        ):
            with pytest.raises(DataError, match=fault):
                run(monkeypatch, *arguments)

    def test_faults_of_the_user(
        self,
        tiny_members: List[str],
        tiny_cloze_archive: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        folder = tmp_path / "folder"
        folder.mkdir()
        out = folder / "predictions.json"
        first, second, _ = tiny_members
        truncated = tmp_path / "truncated.tar.gz"
        truncated.write_bytes(Path(second).read_bytes()[:2000])
        unanswered = json.loads(TINY_SQUAD.read_text())
        for article in unanswered["data"]:
            for paragraph in article["paragraphs"]:
                for question in paragraph["qas"]:
                    question["answers"] = []
        without_answers = tmp_path / "without_answers.json"
        without_answers.write_text(json.dumps(unanswered))
        data = ["--data", TINY_SQUAD, "-o", out]
        cases: List[Any] = [
            (data, "none is given"),
            ([first, first, *data], "given twice"),
            ([first, tmp_path / "no.tar.gz", *data], "no.tar.gz"),
            ([first, tiny_cloze_archive, *data], str(tiny_cloze_archive)),
            ([first, tiny_cloze_archive, *data, "--one-at-a-time"], str(tiny_cloze_archive)),
            ([first, tiny_cloze_archive, "--archive", out], str(tiny_cloze_archive)),
            ([first, truncated, *data], "truncated"),
            ([first, second], "--data"),
            ([first, second, "-o", out], "--data"),
            ([first, second, "--data", tmp_path / "no.json", "-o", out], "no.json"),
            ([first, second, "--data", without_answers], "no answers"),
            ([first, second, *data, "--rule", "sum"], "'sum'.*votes"),
            ([first, "--archive", out, "--rule", "all"], "one rule"),
            ([first, "--archive", out, "--max-answer-length", 3], "--max-answer-length"),
            ([first, "--data", TINY_SQUAD, "-o", folder / "no" / "x.json"], "no such folder"),
        ]
        for arguments, message in cases:
            with pytest.raises((DataError, FileNotFoundError), match=message):
                run(monkeypatch, *arguments)
            assert not list(folder.iterdir())
