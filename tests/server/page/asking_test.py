from playwright.sync_api import Route

from tests.server.page.visit import MILL, SCRIPTS, Visit


class TestAsking:
    def test_by_keyboard(self, visit: Visit) -> None:
        visit.fill("Who built it?", MILL)
        visit.page.locator("#passages textarea").focus()
        visit.page.keyboard.press("Control+Enter")
        visit.wait_for_answer()
        visit.page.locator("#question").focus()
        with visit.page.expect_response("**/api/answer"):
            visit.page.keyboard.press("Enter")

    def test_an_empty_field_is_an_error_beside_it(self, visit: Visit) -> None:
        visit.fill("Who built it?", "  ")
        visit.page.click("#ask")
        assert "no passage" in visit.page.inner_text("#passages .error")
        assert visit.page.get_attribute("#passages textarea", "aria-invalid") == "true"
        visit.fill("", MILL)
        visit.page.click("#ask")
        assert "no question" in visit.page.inner_text("#question-error")
        assert visit.page.inner_text("#passages .error") == ""
        assert visit.page.evaluate("document.activeElement.id") == "question"

    def test_what_the_server_refuses_is_said_beside_the_field(self, visit: Visit) -> None:
        visit.fill("Who? " * 500, MILL)
        visit.page.click("#ask")
        visit.page.wait_for_selector("#question-error:not(:empty)")
        assert "question" in visit.page.inner_text("#question-error")
        visit.ask("Who built it?", MILL)
        assert visit.page.inner_text("#question-error") == ""

    def test_what_is_wrong_with_one_of_several_passages(self, visit: Visit) -> None:
        visit.fill("Who built it?", MILL, "It rains. " * 20_001)
        visit.page.click("#ask")
        visit.page.wait_for_selector("#passages .field:nth-child(2) .error:not(:empty)")
        assert visit.page.locator("#passages .error").first.inner_text() == ""

    def test_a_server_that_is_busy(self, visit: Visit) -> None:
        visit.answer_with({"error": "too many questions wait"}, status=429)
        visit.fill("Who built it?", MILL)
        visit.page.click("#ask")
        visit.page.wait_for_selector("#form-error:not(:empty)")
        assert visit.page.inner_text("#form-error") == "Too many questions wait."

    def test_a_server_that_is_gone(self, visit: Visit) -> None:
        visit.page.route("**/api/answer", lambda route: route.abort())
        visit.fill("Who built it?", MILL)
        visit.page.click("#ask")
        visit.page.wait_for_selector("#form-error:not(:empty)")
        assert "cannot be reached" in visit.page.inner_text("#form-error")

    def test_a_new_question_takes_the_place_of_one_that_is_open(self, visit: Visit) -> None:
        held = []

        def hold_the_first(route: Route) -> None:
            if "earlier" in (route.request.post_data or ""):
                held.append(route)
            else:
                route.continue_()

        visit.page.route("**/api/answer", hold_the_first)
        visit.fill("Who is earlier?", MILL)
        visit.page.click("#ask")
        visit.page.wait_for_selector("body.busy")
        visit.ask("Who is later?", MILL)
        assert len(held) == 1
        assert visit.page.inner_text(".question-words") == "Who is later?"
        assert visit.page.inner_text("#ask") == "Ask"


class TestLink:
    def test_it_restores_what_was_asked(self, visit: Visit) -> None:
        visit.page.select_option("#model", "run-2")
        visit.page.select_option("#compare", "run")
        visit.ask("Who opened it? & why", SCRIPTS, MILL)
        answer, fragment = visit.answer, "#" + visit.page.url.split("#")[1]
        visit.open(fragment).wait_for_answer()
        assert visit.answer == answer
        assert visit.page.input_value("#question") == "Who opened it? & why"
        areas = visit.page.locator("#passages textarea")
        assert [area.input_value() for area in areas.all()] == [SCRIPTS, MILL]
        assert visit.page.input_value("#model") == "run-2"
        assert visit.page.input_value("#compare") == "run"

    def test_back_and_forth(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL)
        visit.ask("When?", MILL)
        visit.page.go_back()
        visit.page.wait_for_selector(".question-words:has-text('Who built it?')")
        assert visit.page.input_value("#question") == "Who built it?"
        visit.page.go_back()
        visit.page.wait_for_selector(".intro")

    def test_what_is_too_long_has_none(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL)
        assert visit.page.locator("#copy-link").is_visible()
        visit.ask("Who built it?", MILL * 240)
        assert visit.page.locator("#copy-link").is_hidden()
        assert "#" not in visit.page.url

    def test_a_model_that_is_not_loaded(self, visit: Visit) -> None:
        visit.open("#question=Who%3F&passage=Ada+did.&model=unknown").wait_for_answer()
        assert "unknown" in visit.page.inner_text("#notice")
