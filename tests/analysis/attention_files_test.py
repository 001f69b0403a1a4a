import csv
import json
from pathlib import Path

import numpy

from bidaf_plugin.analysis.attention_files import file_name, render_attention, write_attention
from tests.analysis.attention_helpers import make_attention
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium

HOSTILE_ATTENTION = make_attention(
    question=HOSTILE,
    passage=HOSTILE + " w1 w2 w3",
    answer=HOSTILE,
    question_words=[HOSTILE, "not"],
    passage_words=[HOSTILE, "w1", "w2", "w3"],
    passage_offsets=[
        (0, len(HOSTILE)),
        *((len(HOSTILE) + 3 * n + 1, len(HOSTILE) + 3 * n + 3) for n in range(3)),
    ],
)


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
        page = Page(render_attention(HOSTILE_ATTENTION))
        page.assert_loads_nothing()
        assert page.count("script") == 2
        assert page.data["matrix"][0][0] == 1.0
        assert HOSTILE in page.texts["strong"]
        assert page.texts["span"].count(HOSTILE) == 2

    @needs_chromium
    def test_a_browser_shows_it_without_complaints(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text(render_attention(HOSTILE_ATTENTION), encoding="utf-8")
        page, complaints = open_in_chromium(path)
        assert complaints == ""
        assert page.texts["title"] == [HOSTILE]
        words = [attributes for name, attributes in page.elements if name == "span"]
        # The passage shows its weights, which are all the same.
        assert sum("--weight: 0.75" in (word.get("style") or "") for word in words) == 4

    def test_every_id_makes_a_file_name(self) -> None:
        assert file_name("56be4db0acb8001400a502ec") == "56be4db0acb8001400a502ec"
        assert file_name("../../a b/<c>") == "_.._a_b__c_"
        assert file_name("") == file_name("..") == "attention"
