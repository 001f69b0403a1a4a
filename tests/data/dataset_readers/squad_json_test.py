import gzip
import json
from pathlib import Path
from typing import Any, Callable, Dict

import pytest

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import read_squad_json
from tests.helpers import REAL_DATA, SAMPLE_V2, TINY_SQUAD, needs_real_data


def change(edit: Callable[[Dict[str, Any]], Any], tmp_path: Path) -> Path:
    """The tiny file after `edit`, in another file."""
    squad = json.loads(TINY_SQUAD.read_text(encoding="utf-8"))
    edit(squad)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(squad), encoding="utf-8")
    return path


def first_question(squad: Dict[str, Any]) -> Dict[str, Any]:
    return squad["data"][0]["paragraphs"][0]["qas"][0]


class TestReadSquadJson:
    def test_reads_paragraphs_with_questions_and_answers(self) -> None:
        paragraphs = list(read_squad_json(TINY_SQUAD))
        assert [len(paragraph.questions) for paragraph in paragraphs] == [3, 1, 1]
        question = paragraphs[0].questions[0]
        assert question.id == "tiny-1"
        assert [answer.text for answer in question.answers] == [
            "Marta Venn",
            "the gardener Marta Venn",
        ]
        for paragraph in paragraphs:
            for question in paragraph.questions:
                for answer in question.answers:
                    assert paragraph.passage[answer.start : answer.end] == answer.text

    def test_reads_gzip_and_needs_no_answers(self, tmp_path: Path) -> None:
        squad = json.loads(TINY_SQUAD.read_text(encoding="utf-8"))
        del first_question(squad)["answers"]
        path = tmp_path / "squad.json.gz"
        path.write_bytes(gzip.compress(json.dumps(squad).encode("utf-8")))
        (question, *_), *_ = (paragraph.questions for paragraph in read_squad_json(path))
        assert question.answers == []

    def test_reads_version_2(self) -> None:
        questions = [q for p in read_squad_json(SAMPLE_V2) for q in p.questions]
        impossible = [question for question in questions if question.is_impossible]
        assert 0 < len(impossible) < len(questions)
        # What is plausible is no answer.
        assert all(bool(q.answers) != q.is_impossible for q in questions)

    @needs_real_data
    def test_reads_the_real_version_2(self) -> None:
        assert REAL_DATA is not None
        paragraphs = read_squad_json(REAL_DATA / "squad" / "dev-v2.0-half.json.gz")
        questions = [question for paragraph in paragraphs for question in paragraph.questions]
        assert len(questions) == 6078
        assert all(bool(q.answers) != q.is_impossible for q in questions)

    @pytest.mark.parametrize(
        "edit, words",
        [
            (lambda squad: squad.pop("data"), ["'data'", "missing"]),
            (lambda squad: squad.update(data={}), ["'data'", "a list"]),
            (lambda squad: squad.update(data=[]), ["no questions"]),
            (lambda squad: first_question(squad).update(question="\ud800?"), ["lone surrogate"]),
            (lambda squad: squad["data"].insert(0, "x"), ["article 0", "'paragraphs'"]),
            (
                lambda squad: squad["data"][1]["paragraphs"][0].pop("context"),
                ["article 1 ('Lighthouse')", "paragraph 0", "'context'", "missing"],
            ),
            (
                lambda squad: squad["data"][0]["paragraphs"][1].update(context=" \n"),
                ["paragraph 1", "'context' is empty"],
            ),
            (lambda squad: first_question(squad).update(id=5), ["question 0", "'id'", "a string"]),
            (
                lambda squad: first_question(squad).update(question=["?"]),
                ["'tiny-1'", "'question'", "a string"],
            ),
            (
                lambda squad: first_question(squad).update(question="  "),
                ["'tiny-1'", "'question' is empty"],
            ),
            (
                lambda squad: first_question(squad)["answers"][0].update(answer_start=3),
                ["'tiny-1'", "'Marta Venn'", "'answer_start' 3", "'"],
            ),
            (
                lambda squad: first_question(squad)["answers"][0].update(answer_start=True),
                ["'tiny-1'", "'answer_start'", "a whole number"],
            ),
            (
                lambda squad: first_question(squad)["answers"][0].update(answer_start=-1),
                ["'tiny-1'", "'answer_start' -1"],
            ),
            (
                lambda squad: first_question(squad).update(is_impossible="no"),
                ["'tiny-1'", "'is_impossible'", "true or false"],
            ),
            (
                lambda squad: first_question(squad).update(is_impossible=True),
                ["'tiny-1'", "'is_impossible' is true, but there are answers"],
            ),
            (
                lambda squad: first_question(squad)["answers"][0].update(text=""),
                ["'tiny-1'", "empty"],
            ),
        ],
    )
    def test_names_the_place_of_what_is_wrong(
        self, edit: Callable[[Dict[str, Any]], Any], words: list, tmp_path: Path
    ) -> None:
        path = change(edit, tmp_path)
        with pytest.raises(DataError) as error:
            list(read_squad_json(path))
        for word in [str(path), *words]:
            assert word in str(error.value)

    def test_damaged_files_are_told_apart(self, tmp_path: Path) -> None:
        content = TINY_SQUAD.read_bytes()
        for name, data, message in [
            ("truncated.json.gz", gzip.compress(content)[:-200], "truncated"),
            ("garbled.json.gz", b"\x1f\x8b" + content, "truncated or damaged"),
            ("latin.json", content.decode("utf-8").encode("latin-1", "replace"), "not UTF-8"),
            ("half.json", content[:300], "not JSON"),
            ("deep.json", b"[" * 100_000, "not JSON"),
            ("digits.json", b"9" * 5_000, "not JSON"),
        ]:
            path = tmp_path / name
            path.write_bytes(data)
            with pytest.raises(DataError, match=message) as error:
                list(read_squad_json(path))
            assert name in str(error.value)
        with pytest.raises(DataError, match="no such file"):
            list(read_squad_json(tmp_path / "absent.json"))
