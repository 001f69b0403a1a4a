"""What the pages of the documentation point at is there."""

import re
from pathlib import Path
from typing import Iterator

import pytest

from tests.docs.pages import (
    CONTRIBUTING,
    FURTHER_PAGES,
    PAGES,
    README,
    anchors,
    each_page,
    inline_code,
    links,
    name_of,
)
from tests.helpers import ROOT

FOLDERS = (
    "benchmarks",
    "bidaf_plugin",
    "docs",
    "fixtures",
    "pretrained",
    "tests",
    "training_configs",
)
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w./*-]*")


def pages_of_site() -> Iterator[str]:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    yield from re.findall(r"^  - .*: (\S+\.md)$", text, re.MULTILINE)


class TestLinks:
    @pytest.mark.parametrize("page", (*PAGES, *FURTHER_PAGES), ids=name_of)
    def test_files_and_headings_that_are_linked_are_there(self, page: Path) -> None:
        for link in links(page):
            if link.startswith(("https://", "http://")):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file(), f"{link}: there is no such file"
            assert target.is_relative_to(ROOT)
            assert not anchor or anchor in anchors(target), f"{link}: there is no such heading"

    @each_page
    def test_paths_that_are_named_are_there(self, page: Path) -> None:
        for code in inline_code(page):
            if PATH.fullmatch(code):
                is_there = any(ROOT.glob(code.rstrip("/")))
                # CONTRIBUTING names files that are to be written, but in folders that there are.
                is_to_be_written = page == CONTRIBUTING and (ROOT / code).parent.is_dir()
                assert is_there or is_to_be_written, f"{code}: there is no such path"

    def test_every_page_is_linked_and_on_the_site(self) -> None:
        linked = {(ROOT / "docs" / link).resolve() for link in links(ROOT / "docs" / "README.md")}
        on_site = {ROOT / path for path in pages_of_site()}
        assert set(PAGES) - {ROOT / "docs" / "README.md"} <= linked
        assert set(PAGES) <= on_site
        assert all(path.is_file() for path in on_site)


class TestArchitecture:
    def test_names_every_room(self) -> None:
        text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
        rooms = [path.parent.name for path in (ROOT / "bidaf_plugin").glob("*/__init__.py")]
        missing = [room for room in rooms if f"`{room}/" not in text]
        assert not missing, f"architecture.md does not name {missing}"


class TestReadme:
    def test_is_short(self) -> None:
        assert README.stat().st_size <= 9_000

    def test_shows_the_main_use_early(self) -> None:
        lines = README.read_text(encoding="utf-8").splitlines()
        assert lines.index("+  alpha:: 'dot',") < 80
