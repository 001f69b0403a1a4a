"""
Pages as parsers and browsers see them.
"""

import json
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, to open pages with")

# Whatever it is put into, it must come out as text.
HOSTILE = "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">&\u2028'"


class Page(HTMLParser):
    """
    A page, parsed.

    # Attributes

    elements : `List[Tuple[str, Dict[str, Optional[str]]]]`
        The names of all elements with their attributes, in order.
    texts : `Dict[str, List[str]]`
        By name of element, the texts directly in it, each in one piece.
    """

    def __init__(self, source: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: List[Tuple[str, Dict[str, Optional[str]]]] = []
        self.texts: Dict[str, List[str]] = {}
        self._open: List[str] = []
        self.feed(source)
        self.close()

    def handle_starttag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "link", "input", "br", "img"):
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: List[Tuple[str, Optional[str]]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)

    @property
    def data(self) -> Any:
        """What the page embeds as JSON."""
        index = [
            place
            for place, (_, attributes) in enumerate(e for e in self.elements if e[0] == "script")
            if attributes.get("id") == "data"
        ]
        return json.loads(self.texts["script"][index[0]])

    def assert_loads_nothing(self) -> None:
        for tag, attributes in self.elements:
            assert tag not in ("img", "iframe", "object", "embed", "base"), tag
            for name, value in attributes.items():
                assert not name.startswith("on"), (tag, name)
                assert name not in ("src", "href") or value == "data:,", (tag, name, value)


def open_in_chromium(path: Path) -> Tuple[Page, str]:
    """The page after its scripts have run, and what the browser has to complain about."""
    assert CHROMIUM is not None
    process = subprocess.run(
        [
            CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking",
            "--disable-component-update", "--disable-sync", "--no-first-run", "--enable-logging=stderr",
            "--v=0", f"--user-data-dir={path.parent / 'chromium'}", "--dump-dom", path.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )  # fmt: skip
    complaints = [line for line in process.stderr.splitlines() if ":CONSOLE" in line]
    return Page(process.stdout), "\n".join(complaints)
