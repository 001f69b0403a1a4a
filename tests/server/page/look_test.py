import pytest

from tests.server.page.visit import MILL, SCRIPTS, Visit


class TestLook:
    def test_dark_by_system_and_by_choice(self, visit: Visit) -> None:
        def background() -> str:
            return visit.page.evaluate("getComputedStyle(document.body).backgroundColor")

        light = background()
        visit.page.emulate_media(color_scheme="dark")
        dark = background()
        assert light != dark
        visit.page.get_by_role("button", name="Dark colours").click()
        assert background() == light
        visit.open()
        assert background() == light

    @pytest.mark.parametrize("is_compared", [False, True])
    def test_a_phone_need_not_scroll_sideways(self, visit: Visit, is_compared: bool) -> None:
        visit.page.set_viewport_size({"width": 390, "height": 844})
        if is_compared:
            visit.page.select_option("#compare", "run-2")
        visit.ask("Who built " + "x" * 300, f"{MILL} {'y' * 500} {SCRIPTS}", MILL)
        visit.wait_for_attention()
        width = visit.page.evaluate("document.documentElement.scrollWidth")
        assert width <= visit.page.evaluate("document.documentElement.clientWidth") <= 390

    def test_fields_and_buttons_have_names(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL, MILL)
        nameless = visit.page.evaluate(
            """() => Array.from(document.querySelectorAll("button, select, textarea, input"))
                .filter(field => !field.labels?.length && !field.ariaLabel && !field.textContent.trim())
                .map(field => field.outerHTML)"""
        )
        assert nameless == []
