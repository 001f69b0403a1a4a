import csv
import json
from pathlib import Path

import numpy

from bidaf_plugin.interpret.attention_files import file_name, render_attention, write_attention
from tests.interpret.helpers import make_attention

EVIL = "</script><script>alert(1)</script>"


class TestAttentionFiles:
    def test_five_files_with_the_same_numbers(self, tmp_path: Path) -> None:
        attention = make_attention()
        paths = write_attention(attention, str(tmp_path))
        assert sorted(Path(path).name for path in paths) == [
            f"q1.{extension}" for extension in ("csv", "html", "json", "png", "svg")
        ]
        assert {path.name for path in tmp_path.iterdir()} == {Path(path).name for path in paths}
        record = json.loads((tmp_path / "q1.json").read_text())
        numpy.testing.assert_allclose(record["matrix"], attention.matrix, atol=1e-6)
        with open(tmp_path / "q1.csv", newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["Why"]) for row in rows] == [1.0, 0.666667, 0.333333, 0.0]
        assert (tmp_path / "q1.png").read_bytes().startswith(b"\x89PNG")

    def test_the_page_has_the_words_in_order_with_marks(self) -> None:
        page = render_attention(make_attention())
        assert '<span class="word answer gold" data-place="1">w1</span> <span' in page
        assert '<span class="word gold" data-place="2">w2</span>' in page
        passage = page[page.index('id="passage"') :]
        assert passage.index(">w0<") < passage.index(">w1<") < passage.index(">w3<")

    def test_no_text_becomes_markup(self) -> None:
        attention = make_attention(
            question=EVIL,
            passage=EVIL,
            answer=EVIL,
            question_words=[EVIL, "not"],
            passage_words=[EVIL] * 4,
            passage_offsets=[(0, 9), (9, 20), (20, 28), (28, len(EVIL))],
        )
        page = render_attention(attention)
        assert "<script>alert" not in page
        assert page.lower().count("</script>") == 2
        assert "&lt;script&gt;alert(1)" in page

    def test_every_id_makes_a_file_name(self) -> None:
        assert file_name("56be4db0acb8001400a502ec") == "56be4db0acb8001400a502ec"
        assert file_name("../../a b/<c>") == "_.._a_b__c_"
        assert file_name("") == file_name("..") == "attention"
