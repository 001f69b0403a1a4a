from pathlib import Path

import pytest

from bidaf_plugin.analysis.squad_files import read_gold_questions, read_paragraphs
from bidaf_plugin.common.errors import DataError
from tests.analysis.squad_helpers import question, squad, write


class TestSquadFiles:
    def test_reads_questions_in_order(self, tmp_path: Path) -> None:
        path = write(tmp_path / "data.json", squad(question("b"), question("a")))
        assert [item.id for item in read_gold_questions(path)] == ["b", "a"]

    def test_duplicate_ids_are_refused(self, tmp_path: Path) -> None:
        path = write(tmp_path / "data.json", squad(question("a"), question("b"), question("a")))
        with pytest.raises(DataError, match="paragraph 0: the question id 'a' is there twice"):
            read_paragraphs(path)

    def test_gold_is_an_answer_or_that_there_is_none(self, tmp_path: Path) -> None:
        impossible = question("b", [], is_impossible=True)
        path = write(tmp_path / "data.json", squad(question("a"), impossible))
        assert [item.is_impossible for item in read_gold_questions(path)] == [False, True]
        path = write(tmp_path / "data.json", squad(question("a"), question("b", [])))
        assert len(read_paragraphs(path)) == 1
        with pytest.raises(DataError, match="question 'b': there is neither a gold answer"):
            read_gold_questions(path)
