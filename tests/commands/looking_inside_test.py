import argparse
import csv
import json
from pathlib import Path
from typing import List, Tuple

import pytest

from bidaf_plugin.commands.looking_inside import (
    add_question_arguments,
    asked_questions,
)
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import Question
from tests.commands.helpers import run_action
from tests.helpers import TINY_SQUAD


def ask(*arguments: str) -> List[Tuple[Question, str]]:
    parser = argparse.ArgumentParser()
    add_question_arguments(parser)
    return asked_questions(parser.parse_args(arguments))


class TestAskedQuestions:
    def test_texts(self) -> None:
        asked = ask("--question", "Who?", "--passage", "Ada.")
        assert asked == [(Question("", "Who?", []), "Ada.")]

    def test_ids_in_the_order_in_which_they_are_given(self) -> None:
        questions = ask("--data", str(TINY_SQUAD), "--ids", "tiny-5, tiny-1")
        assert [question.id for question, _ in questions] == ["tiny-5", "tiny-1"]
        question, passage = questions[1]
        assert question.text == "Who planted the orchard?"
        assert question.answers[0].text == "Marta Venn" and "Marta Venn" in passage

    def test_an_unknown_id_is_named(self) -> None:
        with pytest.raises(DataError, match="tiny.json: there is no question with the id 'x'"):
            ask("--data", str(TINY_SQUAD), "--ids", "tiny-1,x")

    @pytest.mark.parametrize(
        "arguments",
        [
            [],
            ["--question", "Who?"],
            ["--data", "x.json"],
            ["--question", "Who?", "--passage", "Ada.", "--ids", "x"],
        ],
    )
    def test_anything_else_is_an_error(self, arguments: List[str]) -> None:
        with pytest.raises(DataError, match="either --question and --passage, or --data and --ids"):
            ask(*arguments)


class TestAttention:
    def test_files_for_each_question(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = ["--data", TINY_SQUAD, "--ids", "tiny-1,tiny-4"]
        run_action("attention", tiny_archive, *data, "-o", tmp_path / "new")
        names = sorted(path.name for path in (tmp_path / "new").iterdir())
        extensions = ("csv", "html", "json", "png", "svg")
        assert names == [f"tiny-{n}.{extension}" for n in (1, 4) for extension in extensions]
        record = json.loads((tmp_path / "new" / "tiny-1.json").read_text())
        assert record["question_words"] == ["Who", "planted", "the", "orchard", "?"]
        assert f"Who planted the orchard? {record['answer']}" in capsys.readouterr().out

    def test_bad_arguments(
        self, tiny_archive: Path, tiny_cloze_archive: Path, tmp_path: Path
    ) -> None:
        texts = ["--question", "Who?", "--passage", "Ada.", "-o", tmp_path]
        with pytest.raises(DataError, match="--threshold must be above 0"):
            run_action("attention", tiny_archive, *texts, "--threshold", "0")
        with pytest.raises(DataError, match="not a model that answers with spans"):
            run_action("attention", tiny_cloze_archive, *texts)


class TestSaliency:
    def test_words_on_the_screen_and_files(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        data = ["--data", TINY_SQUAD, "--ids", "tiny-4", "--method", "integrated-gradient"]
        run_action("saliency", tiny_archive, *data, "-o", tmp_path)
        assert "What cut the rival in half?" in capsys.readouterr().out
        path = tmp_path / "tiny-4-integrated-gradient.json"
        record = json.loads(path.read_text())
        assert sum(word["score"] for word in record["passage"]) == pytest.approx(1, abs=1e-3)
        assert path.with_suffix(".html").exists()

    def test_an_empty_passage_is_an_error(self, tiny_archive: Path) -> None:
        with pytest.raises(DataError, match="'passage' is empty"):
            run_action("saliency", tiny_archive, "--question", "Who?", "--passage", " ")


class TestNeighbors:
    def test_table_and_files(
        self, tiny_archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = ["--words", "the, orchard", "-k", "3"]
        run_action("neighbors", tiny_archive, TINY_SQUAD, *words, "-o", tmp_path)
        table = capsys.readouterr().out
        assert table == (tmp_path / "neighbors.md").read_text()
        assert table.count("\n") == 2 + 2 * 2
        with open(tmp_path / "neighbors.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 * 2 * 3
        assert (rows[6]["space"], rows[6]["query"], rows[6]["word"]) == (
            "word",
            "orchard",
            "orchard",
        )

    def test_bad_arguments(self, tiny_archive: Path) -> None:
        with pytest.raises(DataError, match="-k must be 1 or more"):
            run_action("neighbors", tiny_archive, TINY_SQUAD, "-k", "0")
        with pytest.raises(DataError, match="--words is ' , '"):
            run_action("neighbors", tiny_archive, TINY_SQUAD, "--words", " , ")
        with pytest.raises(DataError, match="'When'|'Where'"):
            run_action("neighbors", tiny_archive, TINY_SQUAD)


class TestTsne:
    def test_picture_and_points(self, tiny_archive: Path, tmp_path: Path) -> None:
        words = ["--words", "the,its", "--others", "15"]
        run_action("tsne", tiny_archive, TINY_SQUAD, *words, "-o", tmp_path)
        assert sorted(path.name for path in tmp_path.iterdir()) == [
            "tsne.csv",
            "tsne.png",
            "tsne.svg",
        ]
        assert (tmp_path / "tsne.csv").read_text().startswith("space,word,x,y,context\n")

    def test_bad_arguments(self, tiny_archive: Path, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="none of the words January, February"):
            run_action("tsne", tiny_archive, TINY_SQUAD, "-o", tmp_path)
        with pytest.raises(DataError, match="--others and --seed 0 or more"):
            run_action("tsne", tiny_archive, TINY_SQUAD, "-o", tmp_path, "--others", "-1")
