from tests.server.page.visit import CLOZE, MILL, Visit


class TestModels:
    def test_another_model_answers_at_once(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL)
        with visit.page.expect_response("**/api/answer") as response:
            visit.page.select_option("#model", "run-2")
        assert response.value.json()["model"] == "run-2"
        visit.page.wait_for_selector(".model-line:has-text('run-2')")

    def test_two_models_side_by_side(self, visit: Visit) -> None:
        visit.ask("Who built it?", MILL)
        visit.page.select_option("#compare", "run-2")
        visit.page.wait_for_selector(".result:nth-child(2) .lens td[data-row]")
        tops, lefts = visit.page.evaluate("""() => ["top", "left"].map(side => Array.from(
                document.querySelectorAll(".result"), result => result.getBoundingClientRect()[side]
            ))""")
        assert tops[0] == tops[1] and lefts[0] < lefts[1]
        names = visit.page.locator(".model-line strong").all_inner_texts()
        assert names == ["run", "run-2"]
        second = visit.page.locator(".result:nth-child(2)")
        second.locator("button.row").nth(1).click()
        assert second.locator("button.row").nth(1).get_attribute("aria-pressed") == "true"

    def test_cloze(self, visit: Visit) -> None:
        visit.page.select_option("#model", "run-3")
        visit.page.click("#names-field summary")
        names = {"@entity1": "Ada", "@entity2": "Bo: the second", "@entity3": "Orn"}
        visit.page.fill("#names", "\n".join(f"{entity}: {name}" for entity, name in names.items()))
        record = visit.ask("@placeholder met @entity2", CLOZE)
        assert visit.answer == names[record["best_entity"]]
        assert visit.n_best.count() == 3
        for index, candidate in enumerate(record["candidates"]):
            visit.n_best.nth(index).click()
            marked = visit.page.locator(".passage-text mark.answer-mark").all_inner_texts()
            assert marked == [candidate["entity"]] * len(candidate["mentions"])
            filled = visit.page.inner_text(".question-words mark")
            assert filled == candidate["name"] == names[candidate["entity"]]
        assert visit.page.locator("#add-passage").is_hidden()

    def test_a_cloze_question_without_a_gap(self, visit: Visit) -> None:
        visit.page.select_option("#model", "run-3")
        visit.fill("Who met @entity2?", CLOZE)
        visit.page.click("#ask")
        visit.page.wait_for_selector("#question-error:not(:empty)")
        assert "@placeholder" in visit.page.inner_text("#question-error")
