import pytest

from tests.server.page.visit import MILL, SCRIPTS, Visit


class TestAnswers:
    def test_the_answer_is_shown_and_highlighted(self, visit: Visit) -> None:
        record = visit.ask("Who built it?", MILL)
        start, end = record["best_span_characters"]
        assert visit.answer == record["best_span_str"] == MILL[start:end]
        assert visit.highlight() == {"text": MILL[start:end], "start": start}
        percent = float(visit.page.inner_text(".confidence .value").strip("<%\u202f "))
        assert percent == pytest.approx(100 * record["confidence"], abs=0.5)
        assert visit.answer in visit.page.inner_text("#announcement")

    def test_the_highlight_is_right_after_any_script(self, visit: Visit) -> None:
        texts = ["🌙", "cafe\u0301", "القمر", "קפה ירח", "🎉 by Samir", "𝕊 Haddad", "1998"]
        places = [(SCRIPTS.index(text), SCRIPTS.index(text) + len(text)) for text in texts]
        items = [
            {"text": text, "probability": 0.1, "characters": place, "passage_index": 0}
            for text, place in zip(texts, places, strict=True)
        ]
        best = {"best_span_str": "🌙", "best_span_characters": places[0], "confidence": 0.1}
        visit.answer_with({**best, "n_best": items})
        visit.ask("Who opened it?", SCRIPTS)
        visit.wait_for_attention()
        for index, text in enumerate(texts):
            visit.n_best.nth(index).click()
            assert visit.highlight() == {"text": text, "start": places[index][0]}

    def test_every_answer_of_the_list_is_highlighted(self, visit: Visit) -> None:
        record = visit.ask("Who opened it?", SCRIPTS)
        assert visit.n_best.count() == len(record["n_best"]) == 5
        for index, answer in enumerate(record["n_best"]):
            visit.n_best.nth(index).click()
            start, end = answer["characters"]
            assert visit.highlight() == {"text": SCRIPTS[start:end], "start": start}
            assert visit.n_best.nth(index).get_attribute("aria-pressed") == "true"
        assert visit.page.text_content(".passage-text") == SCRIPTS

    def test_the_list_by_keyboard(self, visit: Visit) -> None:
        record = visit.ask("Who built it?", MILL)
        visit.n_best.nth(2).focus()
        visit.page.keyboard.press("Enter")
        assert visit.highlight()["start"] == record["n_best"][2]["characters"][0]
        assert visit.answer == record["best_span_str"]

    def test_several_passages(self, visit: Visit) -> None:
        record = visit.ask("Who built it?", "Nothing is known.", MILL, "It rains.")
        index = record["passage_index"]
        assert visit.page.locator("details.passage").count() == 3
        assert visit.page.locator("details.passage .tag:visible").count() == 1
        chosen = visit.page.locator("details.passage.chosen")
        assert chosen.locator("summary").inner_text().startswith(f"Passage {index + 1}")
        assert chosen.locator("mark").inner_text() == record["best_span_str"]
        visit.page.get_by_role("button", name="Remove passage 1").click()
        assert visit.page.locator("#passages textarea").first.input_value() == MILL

    def test_no_answer(self, visit: Visit) -> None:
        other = {"text": "Ada Orn", "probability": 0.1, "characters": [26, 33], "passage_index": 0}
        record = {"best_span_str": "", "best_span_characters": None, "confidence": 0.875}
        visit.answer_with({**record, "no_answer_probability": 0.875, "n_best": [other]})
        visit.ask("Who sold it?", MILL)
        assert visit.answer == "No answer in this text"
        assert visit.page.locator(".passage-text mark").count() == 0
        assert "no answer" in visit.page.locator(".ranking li").first.inner_text()
        visit.n_best.first.click()
        assert visit.highlight() == {"text": "Ada Orn", "start": 26}

    def test_html_stays_text(self, visit: Visit) -> None:
        html = "<script>window.run = 1</script><img src=x onerror='window.run = 2'><b>Ada</b> built it."
        visit.ask(f"Who? {html}", html)
        visit.wait_for_attention()
        assert visit.page.text_content(".passage-text") == html
        assert visit.page.text_content(".question-words") == f"Who? {html}"
        assert visit.page.evaluate("window.run") is None
        assert visit.page.locator(".result :is(img, script, b)").count() == 0

    def test_examples_are_asked_at_once(self, visit: Visit) -> None:
        visit.page.get_by_role("button", name="A lighthouse").click()
        visit.wait_for_answer()
        assert visit.page.input_value("#question").startswith("Who designed")
        with visit.page.expect_response("**/api/answer"):
            visit.page.locator("#questions button").first.click()
        assert visit.page.input_value("#question").startswith("When")
