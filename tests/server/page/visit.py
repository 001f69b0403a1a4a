"""
A page in a browser, and what it shows.
"""

import json
from typing import Any, Dict, List

from playwright.sync_api import Locator, Page, Route

MILL = "The old mill was built by Ada Orn in 1871, and it burnt down in 1902."
# Emoji with two and more code points, a letter with a combining mark, and text from right to left.
SCRIPTS = "☕🌙👨🏽‍🍳 The cafe\u0301 (مقهى القمر, קפה ירח) was opened 🎉 by Samir 𝕊 Haddad in 1998."
CLOZE = "@entity1 met @entity2 in @entity3 , where @entity1 lives ."


class Visit:
    """
    A page that is open in a browser.

    # Parameters

    page : `Page`
    address : `str`
        Of the server.
    """

    def __init__(self, page: Page, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: List[str] = []
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", self._on_console)
        page.on("request", self._on_request)

    def _on_console(self, message: Any) -> None:
        # Chromium itself says so of every response that is an error, which is no fault of the page.
        if message.type in ("error", "warning") and "Failed to load resource" not in message.text:
            self.problems.append(message.text)

    def _on_request(self, request: Any) -> None:
        if not request.url.startswith(self.address):
            self.problems.append(f"a request to {request.url}")

    def open(self, fragment: str = "") -> "Visit":
        if fragment:
            # A new fragment alone would not load the page anew.
            self.page.goto("about:blank")
        self.page.goto(self.address + fragment)
        self.page.wait_for_selector("body.ready")
        return self

    def fill(self, question: str, *passages: str) -> None:
        self.page.fill("#question", question)
        areas = self.page.locator("#passages textarea")
        while areas.count() < len(passages):
            self.page.click("#add-passage")
        for index, passage in enumerate(passages):
            areas.nth(index).fill(passage)

    def ask(self, question: str, *passages: str) -> Dict[str, Any]:
        """Asks, and gives the server's record when its answer is shown."""
        self.fill(question, *passages)
        with self.page.expect_response("**/api/answer") as response:
            self.page.click("#ask")
        self.wait_for_answer()
        return response.value.json()

    def answer_with(self, record: Dict[str, Any], path: str = "answer", status: int = 200) -> None:
        """Lets the server answer what its models do not."""

        def fulfill(route: Route) -> None:
            route.fulfill(status=status, content_type="application/json", body=json.dumps(record))

        self.page.route(f"**/api/{path}", fulfill)

    def wait_for_answer(self) -> None:
        self.page.wait_for_selector("body:not(.busy) .result")

    def wait_for_attention(self) -> None:
        self.page.wait_for_selector(".lens td[data-row]")

    @property
    def answer(self) -> str:
        return self.page.inner_text(".answer")

    @property
    def n_best(self) -> Locator:
        return self.page.locator("button.row")

    def highlight(self, selector: str = ".passage-text") -> Dict[str, Any]:
        """What is marked in the passages: the text, and the code points before it in its passage."""
        return self.page.evaluate(
            """selector => {
                const mark = document.querySelector(`${selector} mark.answer-mark`);
                const range = document.createRange();
                range.setStart(mark.closest(".passage-text"), 0);
                range.setEndBefore(mark);
                return {text: mark.textContent, start: Array.from(range.toString()).length};
            }""",
            selector,
        )

    def weights(self, selector: str) -> List[float]:
        """How much each word is shaded."""
        return self.page.eval_on_selector_all(
            f"{selector} .word",
            "words => words.map(word => Number(word.style.getPropertyValue('--weight')))",
        )
