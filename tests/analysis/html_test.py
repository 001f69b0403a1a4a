from pathlib import Path

import pytest
from jinja2 import UndefinedError

from bidaf_plugin.analysis.html import render
from tests.html_helpers import HOSTILE, Page, needs_chromium, open_in_chromium


class TestRender:
    def test_values_are_text_wherever_they_stand(self) -> None:
        page = Page(render("base.html", title=HOSTILE, data={HOSTILE: [HOSTILE]}))
        assert page.texts["title"] == page.texts["h1"] == [HOSTILE]
        assert page.count("script") == 1
        assert page.data == {HOSTILE: [HOSTILE]}
        page.assert_loads_nothing()

    def test_data_has_no_characters_that_mean_something_in_scripts(self) -> None:
        source = render("base.html", title="", data="<!-- </script> & \u2028 \u2029 '")
        (line,) = [line for line in source.splitlines() if 'id="data"' in line]
        content = line.partition(">")[2].removesuffix("</script>")
        assert not set("<>&'\u2028\u2029") & set(content)
        assert Page(source).data == "<!-- </script> & \u2028 \u2029 '"

    def test_the_order_of_data_is_kept(self) -> None:
        assert list(Page(render("base.html", title="", data={"b": 1, "a": 2})).data) == ["b", "a"]

    def test_a_page_without_data_has_no_script(self) -> None:
        assert Page(render("base.html", title="x")).count("script") == 0

    def test_what_is_missing_or_no_json_is_an_error(self) -> None:
        with pytest.raises(UndefinedError, match="title"):
            render("base.html")
        with pytest.raises(ValueError, match="JSON compliant"):
            render("base.html", title="", data=float("nan"))

    def test_half_a_character_can_be_written(self) -> None:
        render("base.html", title="\ud800").encode("utf-8")

    @needs_chromium
    def test_the_browser_runs_nothing_of_it(self, tmp_path: Path) -> None:
        path = tmp_path / "page.html"
        path.write_text(render("base.html", title=HOSTILE, data=HOSTILE), encoding="utf-8")
        page, complaints = open_in_chromium(path)
        assert complaints == ""
        assert page.texts["title"] == [HOSTILE]
