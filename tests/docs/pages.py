"""
The pages of the documentation: their code blocks, commands, links and headings.
"""

import re
import shlex
from pathlib import Path
from typing import Iterator, List, NamedTuple, Set

import pytest

from tests.helpers import ROOT

README = ROOT / "README.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
PAGES = (README, CONTRIBUTING, *sorted((ROOT / "docs").glob("*.md")))
# Pages that others link to, with links of their own.
FURTHER_PAGES = (
    ROOT / "CHANGELOG.md",
    ROOT / "benchmarks" / "README.md",
    ROOT / "pretrained" / "README.md",
    *sorted((ROOT / "results").glob("**/*.md")),
)

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE_CODE = re.compile(r"`([^`\n]+)`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
# A file that a command writes from the lines up to one that says END.
_HERE_DOCUMENT = re.compile(r"^\S.* <<'END'\n.*?^END$", re.DOTALL | re.MULTILINE)


def name_of(page: Path) -> str:
    """What a test calls a page."""
    return str(page.relative_to(ROOT))


each_page = pytest.mark.parametrize("page", PAGES, ids=name_of)


class Block(NamedTuple):
    """A code block, with the page that it is on."""

    page: Path
    language: str
    text: str


def code_blocks(page: Path, *languages: str) -> List[Block]:
    """Those in any of some languages, in their order."""
    text = page.read_text(encoding="utf-8")
    blocks = [Block(page, *match.groups()) for match in _BLOCK.finditer(text)]
    return [block for block in blocks if block.language in languages]


def prose(page: Path) -> str:
    """A page without its code blocks."""
    return _BLOCK.sub("", page.read_text(encoding="utf-8"))


def inline_code(page: Path) -> List[str]:
    return _INLINE_CODE.findall(prose(page))


def links(page: Path) -> List[str]:
    return _LINK.findall(_INLINE_CODE.sub("", prose(page)))


def anchors(page: Path) -> Set[str]:
    """What the headings of a page are called in links, on code hosts and by mkdocs alike."""
    headings = _HEADING.findall(prose(page))
    texts = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in headings]
    assert len(set(texts)) == len(texts), f"{page}: two headings have the same name"
    return {text.replace(" ", "-") for text in texts}


def statements(block: Block) -> List[str]:
    """The statements of a block in bash: lines, lines that go on after a backslash, files that are written."""
    files = _HERE_DOCUMENT.findall(block.text)
    text = _HERE_DOCUMENT.sub("<file>", block.text).replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    remaining = iter(files)
    return [next(remaining) if line == "<file>" else line for line in lines if line]


def commands(page: Path) -> Iterator[List[str]]:
    """The words of all commands in the blocks in bash of a page."""
    for block in code_blocks(page, "bash"):
        for statement in statements(block):
            if "\n" in statement:
                continue
            lexer = shlex.shlex(statement, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            command: List[str] = []
            for word in lexer:
                if set(word) <= set("|&;<>()"):
                    yield command
                    command = []
                else:
                    command.append(word)
            yield command
