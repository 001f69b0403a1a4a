"""
One cloze question of [Hermann et al. (2015)](https://arxiv.org/abs/1506.03340): what a `.question`
file says, checked; and what happens to questions that cannot be used.
"""

import logging
import os
import re
from collections import Counter
from typing import Dict, List, NamedTuple, Optional

from bidaf_plugin.common.errors import DataError

logger = logging.getLogger(__name__)

# ASCII digits only, and nothing around them: neither "@", a twitter handle nor "@entity3s" is one.
ENTITY = re.compile(r"@entity[0-9]+")
PLACEHOLDER = "@placeholder"
EXTENSION = ".question"
# Bytes of a file. Those of CNN and the Daily Mail have some ten thousand; the memory is not for the rest.
MAX_QUESTION_SIZE = 1 << 24

# Questions of a kind that the log names. A kind that is frequent hides no other.
_MAX_NAMED = 10
_PARTS = ("URL", "article", "question", "answer")
_NAME = re.compile(rf"{ENTITY.pattern}|{PLACEHOLDER}")
_GLUED_NAMES = re.compile(rf"(?<!\w)((?:{_NAME.pattern})+)(?!\w)")


def is_question_file(name: str) -> bool:
    # "._x.question" are the shadows that archives made on a Mac carry.
    return name.endswith(EXTENSION) and not os.path.basename(name).startswith("._")


def id_of_file(name: str) -> str:
    return name.removesuffix(EXTENSION)


class QuestionError(DataError):
    """A question that cannot be used: why, and the same in two or three words (`kind`), to count by."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class BadQuestions:
    """
    What to do with questions that cannot be used: stop at the first, or `skip` and count them by kind, and
    name the first few of each kind in the log.
    """

    def __init__(self, skip: bool) -> None:
        self._skip = skip
        self.counts: Counter[str] = Counter()

    def handle(self, error: QuestionError) -> None:
        """Raises `error`, or names and counts it."""
        if not self._skip:
            raise error
        if self.counts[error.kind] < _MAX_NAMED:
            logger.warning("skipped: %s", error)
        self.counts[error.kind] += 1

    def summary(self) -> str:
        """Like "3 questions skipped: 2 no placeholder, 1 missing parts"."""
        if not self.counts:
            return "no questions skipped"
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.most_common())
        return f"{self.counts.total():,} questions skipped: {kinds}"

    def report(self, place: str, num_good: int, is_share: bool = False) -> None:
        """
        Says at the end how many were skipped; all of them is too many, unless these were a share of the
        questions, of which other readers read the rest.
        """
        if self.counts and not num_good and not is_share:
            raise DataError(f"{place}: not one question can be used; {self.summary()}")
        if self.counts:
            logger.warning("%s: %s; %d read", place, self.summary(), num_good)


def too_large(place: str, size: int) -> QuestionError:
    """For a file of more than `MAX_QUESTION_SIZE` bytes, which is not read."""
    return QuestionError(
        f"{place}: {size:,} bytes are no question; expected at most {MAX_QUESTION_SIZE:,}",
        "too large",
    )


class RawQuestion(NamedTuple):
    """The bytes of a `.question` file; `place` names it in messages."""

    place: str
    id: str
    content: bytes


class ClozeQuestion(NamedTuple):
    """`place` names it in messages; `names` has the real names of the entities, if they are known."""

    place: str
    id: str
    url: str
    article: str
    question: str
    answer: Optional[str]
    names: Dict[str, str]


def parse_question(content: bytes, place: str, id: str, needs_answer: bool = True) -> ClozeQuestion:
    """
    Reads and checks a `.question` file: URL, article, question and answer on a line each, then lines
    `@entityN:name` (or none), with a blank line between the parts. Without `needs_answer` the answer may be
    empty or missing. A `QuestionError` names the file by its `place`.
    """
    try:
        text = content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        raise QuestionError(
            f"{place}: not UTF-8 text (byte {error.start}: {error.reason})", "not UTF-8"
        ) from error
    # What the file ends before is empty.
    *parts, entity_map = [*text.split("\n\n", len(_PARTS)), *[""] * len(_PARTS)][: len(_PARTS) + 1]
    url, article, question, answer = parts = [part.strip() for part in parts]
    for name, part in zip(_PARTS, parts, strict=True):
        may_be_empty = name == "URL" or (name == "answer" and not needs_answer)
        if not part and not may_be_empty:
            raise QuestionError(f"{place}: the {name} is missing", "missing parts")
        if "\n" in part:
            raise QuestionError(
                f"{place}: the {name} has more than one line; expected URL, article, question and "
                "answer on a line each, with a blank line between them",
                "missing parts",
            )
    check_placeholder(question.split(), place)
    if answer and not ENTITY.fullmatch(answer):
        raise QuestionError(
            f"{place}: the answer is {answer!r:.60}; expected an entity like '@entity3'",
            "answer is no entity",
        )
    names = _parse_entity_map(entity_map, place)
    return ClozeQuestion(place, id, url, article, question, answer or None, names)


def check_placeholder(question_words: List[str], place: str) -> None:
    """There must be exactly one gap to fill."""
    count = question_words.count(PLACEHOLDER)
    if count == 0:
        raise QuestionError(f"{place}: the question has no {PLACEHOLDER}", "no placeholder")
    if count > 1:
        raise QuestionError(
            f"{place}: the question has {count} times {PLACEHOLDER}; expected one",
            "several placeholders",
        )


def _parse_entity_map(entity_map: str, place: str) -> Dict[str, str]:
    names = {}
    for line in entity_map.split("\n"):
        if not line.strip():
            continue
        # Names may hold colons, too.
        entity, colon, name = line.strip().partition(":")
        if not colon or not ENTITY.fullmatch(entity):
            raise QuestionError(
                f"{place}: the entity map has the line {line!r:.60}; expected '@entityN:name'",
                "bad entity map",
            )
        names[entity] = name.strip()
    return names


def make_question(
    question: str,
    passage: str,
    answer: Optional[str] = None,
    id: Optional[str] = None,
    names: Optional[Dict[str, str]] = None,
) -> ClozeQuestion:
    """A question about a text of one's own, with its words split and checked."""
    place = "the input"
    question_words, passage_words = split_words(question), split_words(passage)
    check_placeholder(question_words, place)
    if not any(ENTITY.fullmatch(word) for word in passage_words):
        raise QuestionError(
            f"{place}: the passage has no entity, a word like '@entity3'", "no entities"
        )
    return ClozeQuestion(
        place=place,
        id="" if id is None else id,
        url="",
        article=" ".join(passage_words),
        question=" ".join(question_words),
        answer=answer,
        names=names or {},
    )


def split_words(text: str) -> List[str]:
    """
    The words of a text of one's own: what stands between blanks, with entities and placeholder cut
    off from what is glued to them ("(@entity3's)" becomes "( @entity3 's)"). Text of the data files
    has its words between blanks already and stays as it is.
    """
    words = []
    for chunk in text.split():
        # Most words have no "@", and need no second look.
        if "@" not in chunk or chunk == PLACEHOLDER or ENTITY.fullmatch(chunk):
            words.append(chunk)
        else:
            for number, part in enumerate(_GLUED_NAMES.split(chunk)):
                # Every second one is what is split at: names.
                words += _NAME.findall(part) if number % 2 else [part] if part else []
    return words
