import gzip
import json
import tracemalloc
from pathlib import Path
from typing import Any, List, Tuple

import pytest

from bidaf_plugin.analysis.files import read_paragraphs, records_of
from bidaf_plugin.analysis.shards import find_files, questions_of_files
from bidaf_plugin.common.errors import DataError
from tests.analysis.squad_helpers import question, squad, write
from tests.helpers import FIXTURES, TINY_SQUAD

SAMPLE = FIXTURES / "squad" / "sample_dev.json"


def read(*paths: Any) -> Tuple[List[Any], List[str]]:
    """The questions, and what was bad."""
    bad: List[str] = []
    return list(questions_of_files([str(path) for path in paths], bad.append)), bad


def lines(path: Path, *records: Any) -> Path:
    texts = [item if isinstance(item, str) else json.dumps(item) for item in records]
    path.write_text("\n".join(texts), encoding="utf-8")
    return path


def record(id: Any, **others: Any) -> Any:
    return {"id": id, "question": "Who?", "passage": "Ada was it.", **others}


class TestQuestionsOfFiles:
    def test_are_those_of_the_whole_file(self, tmp_path: Path) -> None:
        zipped = tmp_path / "sample.json.gz"
        zipped.write_bytes(gzip.compress(SAMPLE.read_bytes()))
        for path in (SAMPLE, zipped):
            assert read(path) == (records_of(read_paragraphs(SAMPLE)), [])

    def test_json_lines_of_several_files_come_in_their_order(self, tmp_path: Path) -> None:
        first = lines(tmp_path / "a.jsonl", record("1"), "", record("2", n_best=3))
        asked = {"qid": "3", "question": "Who?", "context": "Ada."}
        second = tmp_path / "b.jsonl.gz"
        second.write_bytes(gzip.compress(json.dumps(asked).encode()))
        questions, bad = read(first, second, TINY_SQUAD)
        assert [item["id"] for item in questions][:4] == ["1", "2", "3", "tiny-1"]
        assert not bad

    @pytest.mark.parametrize(
        "item, message",
        [
            ("{", "a.jsonl, line 2: "),
            ({"id": "2", "question": "Who?"}, "line 2: 'passage' is missing"),
            (record(7), "line 2: the answer needs an 'id' that is a string, found 7"),
            (record("1"), "line 2: the question id '1' is there twice"),
            ('{"id": "\\ud800", "question": "Who?", "passage": "Ada."}', "half a character"),
        ],
    )
    def test_a_bad_line_is_named_and_the_others_are_read(
        self, tmp_path: Path, item: Any, message: str
    ) -> None:
        questions, (bad,) = read(lines(tmp_path / "a.jsonl", record("1"), item, record("3")))
        assert [question["id"] for question in questions] == ["1", "3"]
        assert message in bad

    def test_a_bad_paragraph_is_named_and_the_others_are_read(self, tmp_path: Path) -> None:
        content = squad(question("a"), question("b"))
        (article,) = content["data"]
        article["paragraphs"][1:1] = [{"context": ""}, 5]
        content["data"] += ["no article", {"title": "No paragraphs"}]
        questions, bad = read(write(tmp_path / "data.json", content), TINY_SQUAD)
        assert [item["id"] for item in questions][-1] == "tiny-5"
        assert len(questions) == len(records_of(read_paragraphs(TINY_SQUAD))) + 2
        assert [sentence.partition(": ")[0].partition("data.json, ")[2] for sentence in bad] == [
            f"article 0 ({article['title']!r}), paragraph 1",
            f"article 0 ({article['title']!r}), paragraph 2",
            "article 1",
            "article 2 ('No paragraphs')",
        ]

    def test_the_rest_of_a_damaged_file_is_left_out(self, tmp_path: Path) -> None:
        whole = SAMPLE.read_bytes()
        cut, zipped = tmp_path / "cut.json", tmp_path / "cut.json.gz"
        cut.write_bytes(whole[: len(whole) // 2])
        zipped.write_bytes(gzip.compress(whole)[:-2000])
        no_text = tmp_path / "no_text.json"
        no_text.write_bytes(whole[:-2] + b"\xff")
        no_data = write(tmp_path / "no_data.json", {"version": "1"})
        questions, bad = read(cut, tmp_path / "gone.json", no_data, TINY_SQUAD)
        assert 10 < len(questions) < 226
        assert questions[-1]["id"] == "tiny-5"
        assert [sentence.partition(": ")[0].rpartition("/")[2] for sentence in bad] == [
            "cut.json",
            "gone.json",
            "no_data.json",
        ]
        assert "truncated or damaged" in read(zipped)[1][0]
        assert "utf-8" in read(no_text)[1][0]

    def test_memory_does_not_grow_with_the_file(self, tmp_path: Path) -> None:
        peaks = []
        for number in (1, 4):
            paragraph = json.loads(TINY_SQUAD.read_text())["data"][0]["paragraphs"][0]
            path = tmp_path / f"{number}.json"
            with path.open("w") as file:
                file.write('{"data": [{"paragraphs": [')
                for index in range(3000 * number):
                    paragraph["qas"] = [{"id": f"{index}", "question": "Who?"}]
                    file.write("," * bool(index) + json.dumps(paragraph))
                file.write("]}]}")
            tracemalloc.start()
            count = sum(1 for _ in questions_of_files([str(path)], print))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert count == 3000 * number
        assert peaks[1] < 1.2 * peaks[0]


class TestFindFiles:
    def test_takes_the_files_of_a_folder_by_their_names(self, tmp_path: Path) -> None:
        for name in ("b.jsonl", "a.json.gz", "README.md", "c.json"):
            (tmp_path / name).touch()
        names = [Path(path).name for path in find_files(str(tmp_path))]
        assert names == ["a.json.gz", "b.jsonl", "c.json"]
        assert find_files(str(tmp_path / "README.md")) == [str(tmp_path / "README.md")]

    def test_says_what_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(DataError, match="there are no files in it that end in"):
            find_files(str(tmp_path))
        with pytest.raises(DataError, match="there is no such file or folder"):
            find_files(str(tmp_path / "gone"))
