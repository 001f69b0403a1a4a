import pytest

from tests.server.page.visit import MILL, Visit


class TestAttention:
    def test_a_word_of_the_question_shades_the_passage(self, visit: Visit) -> None:
        with visit.page.expect_response("**/api/attention") as response:
            visit.ask("Who built it?", MILL)
        visit.wait_for_attention()
        attention = response.value.json()
        assert sum(visit.weights(".passage-text")) == 0
        visit.page.locator(".question-words .word").nth(1).hover()
        largest = max(map(max, attention["matrix"]))
        expected = [(value / largest) ** 0.7 for value in attention["matrix"][1]]
        assert visit.weights(".passage-text") == pytest.approx(expected, abs=1e-3)
        assert "“built”" in visit.page.inner_text(".readout")
        visit.page.locator("h1").hover()
        assert sum(visit.weights(".passage-text")) == 0

    def test_a_word_of_the_passage_shades_the_question(self, visit: Visit) -> None:
        with visit.page.expect_response("**/api/attention") as response:
            visit.ask("Who built it?", MILL)
        visit.wait_for_attention()
        visit.page.locator(".passage-text .word").nth(2).hover()
        matrix = response.value.json()["matrix"]
        expected = [(row[2] / max(map(max, matrix))) ** 0.7 for row in matrix]
        assert visit.weights(".question-words") == pytest.approx(expected, abs=1e-3)
        assert "“mill”" in visit.page.inner_text(".readout")

    def test_by_keyboard(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL)
        visit.wait_for_attention()
        visit.page.locator(".question-words .word").first.focus()
        visit.page.keyboard.press("Tab")
        assert sum(visit.weights(".passage-text")) > 0
        visit.page.locator(".passage-text .word").first.focus()
        visit.page.keyboard.press("ArrowRight")
        assert visit.page.inner_text(".passage-text .word.pointed") == "old"
        visit.page.keyboard.press("Enter")
        visit.page.locator("#question").focus()
        assert visit.page.inner_text(".passage-text .word.pointed") == "old"

    def test_words_stay_when_the_highlight_moves(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL)
        visit.wait_for_attention()
        count = visit.page.locator(".passage-text .word").count()
        visit.n_best.nth(3).click()
        assert visit.page.locator(".passage-text .word").count() == count
        visit.page.locator(".question-words .word").first.hover()
        assert sum(visit.weights(".passage-text")) > 0

    def test_the_strip_shows_what_matters(self, visit: Visit) -> None:
        with visit.page.expect_response("**/api/attention") as response:
            visit.ask("Who built it?", MILL)
        visit.wait_for_attention()
        weights = response.value.json()["passage_weights"]
        bars = (visit.page.get_attribute(".strip-bars path", "d") or "").split("z")[:-1]
        heights = [1 - float(bar.split("V")[1].split("h")[0]) for bar in bars]
        expected = [max(weight / max(weights), 0.03) for weight in weights]
        assert heights == pytest.approx(expected, abs=1e-3)
        visit.page.hover(".strip-bars", position={"x": 3, "y": 5})
        assert visit.page.inner_text(".passage-text .word.pointed") == "The"

    def test_the_matrix_of_a_long_passage(self, visit: Visit) -> None:
        visit.ask("Who built it?", " ".join([MILL] * 12))
        visit.wait_for_attention()
        assert visit.page.locator(".overview svg").is_visible()
        slider = visit.page.locator(".overview input")
        slider.focus()
        visit.page.keyboard.press("Home")
        words = visit.page.locator(".lens thead span")
        assert words.first.inner_text() == "The"
        visit.page.keyboard.press("ArrowRight")
        assert words.first.inner_text() == "old"
        visit.page.locator(".lens td[data-row='1'][data-column='1']").hover()
        assert visit.page.inner_text(".readout").startswith("“mill” attends to “built” with")

    def test_its_failure_leaves_the_answer(self, visit: Visit) -> None:
        visit.answer_with({"error": "the passage is too long"}, "attention", 413)
        record = visit.ask("Who built it?", MILL)
        visit.page.wait_for_selector(".attention-part .notice")
        assert "The passage is too long." in visit.page.inner_text(".attention-part")
        assert visit.answer == record["best_span_str"]

    def test_of_the_passage_that_the_answer_is_from(self, visit: Visit) -> None:
        items = [
            {"text": "Ada Orn", "probability": 0.1, "characters": [26, 33], "passage_index": 0},
            {"text": "Bo", "probability": 0.1, "characters": [0, 2], "passage_index": 1},
        ]
        best = {"best_span_str": "Ada Orn", "best_span_characters": [26, 33], "confidence": 0.1}
        visit.answer_with({**best, "passage_index": 0, "n_best": items})
        visit.ask("Who built it?", MILL, "Bo built the boat.")
        for index, first_word in ((0, "The"), (1, "Bo"), (0, "The")):
            visit.n_best.nth(index).click()
            chosen = visit.page.locator("details.passage.chosen")
            chosen.locator(".strip-bars").wait_for()
            assert visit.page.locator(".strip-bars").count() == 1
            assert chosen.locator(".word").first.inner_text() == first_word
            assert chosen.locator("mark").inner_text() == items[index]["text"]
