import logging
from collections import Counter

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.cloze_question import QuestionError

logger = logging.getLogger(__name__)


class BadQuestions:
    """
    What to do with questions that cannot be used: stop at the first, or skip and count them.

    # Parameters

    skip : `bool`
        True: skip, count by kind, and name the first few of each kind in the log.
    max_named : `int`, optional (default = `10`)
        How many of a kind are named in the log. A kind that is frequent hides no other.
    """

    def __init__(self, skip: bool, max_named: int = 10) -> None:
        self._skip = skip
        self._max_named = max_named
        self.counts: Counter[str] = Counter()

    def handle(self, error: QuestionError) -> None:
        """Raises `error`, or counts it."""
        if not self._skip:
            raise error
        if self.counts[error.kind] < self._max_named:
            logger.warning("skipped: %s", error)
        self.counts[error.kind] += 1

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def summary(self) -> str:
        """Like "3 questions skipped: 2 no placeholder, 1 missing parts"."""
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.counts.most_common())
        return f"{self.total:,} questions skipped: {kinds}" if kinds else "no questions skipped"

    def report(self, place: str, num_good: int, is_share: bool = False) -> None:
        """
        Says at the end how many were skipped; all of them is too many, unless these were a share of the
        questions, of which other readers read the rest.
        """
        if self.total and not num_good and not is_share:
            raise DataError(f"{place}: not one question can be used; {self.summary()}")
        if self.total:
            logger.warning("%s: %s; %d read", place, self.summary(), num_good)
