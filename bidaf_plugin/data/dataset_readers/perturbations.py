"""
What makes questions and passages harder without changing what the answers are: to measure how a model does on
texts that are not like those it has learned from, and to learn from them.
"""

import math
import re
from collections import defaultdict
from random import Random
from typing import Callable, Dict, Iterable, Iterator, List, Mapping, Sequence

from allennlp.common import Registrable
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer, Paragraph, Question

_WORD = re.compile(r"\w+")
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"“])")
# Words of a sentence that may distract.
_SENTENCE_LENGTHS = range(6, 41)
# Enough to choose from; more would take long.
_MAX_SENTENCES = 20_000
# A word that is in a larger share of the sentences says nothing about what they are about.
_MAX_SHARE_OF_SENTENCES = 0.02
# Shorter words are not misspelt.
_MIN_MISSPELT_LENGTH = 4
_MISSING_SHARE = 0.15


class Perturbation(Registrable):
    """One way to make questions and passages harder."""

    def prepare(self, paragraphs: Sequence[Paragraph], random: Random) -> None:
        """Told once all paragraphs, of which some will be changed."""

    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        """
        # Parameters

        paragraph : `Paragraph`
        random : `Random`
            What is drawn comes from it alone.

        # Returns

        `Iterator[Paragraph]`
            With all of its questions, the same ids, and answers at their new places.
        """
        raise NotImplementedError


@Perturbation.register("unchanged")
class Unchanged(Perturbation):
    """
    Everything stays as it is: what other ways are compared with.

    Registered as a `Perturbation` with name "unchanged".
    """

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        yield paragraph


@Perturbation.register("distractor")
class Distractor(Perturbation):
    """
    Before or after the passage stands a sentence of another article, for each question the one that shares most
    with it: the sum of `-log(share of the sentences that have the word)` over common words. It has none of the
    gold answers. After the adversarial sentences of [Jia & Liang (2017)](https://arxiv.org/abs/1707.07328), but
    made of what people have written.

    Registered as a `Perturbation` with name "distractor".
    """

    @overrides
    def prepare(self, paragraphs: Sequence[Paragraph], random: Random) -> None:
        sentences = [
            (sentence, paragraph.article)
            for paragraph in paragraphs
            for sentence in _END_OF_SENTENCE.split(paragraph.passage.strip())
            if len(_WORD.findall(sentence)) in _SENTENCE_LENGTHS
        ]
        if len(sentences) > _MAX_SENTENCES:
            sentences = random.sample(sentences, _MAX_SENTENCES)
        self._sentences = sentences
        # The sentences with each word, by their numbers.
        self._with_word: Dict[str, List[int]] = defaultdict(list)
        for number, (sentence, _) in enumerate(sentences):
            for word in _words(sentence):
                self._with_word[word].append(number)

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        for question in paragraph.questions:
            sentence = self._distracting(question, paragraph.article)
            passage, shift = f"{paragraph.passage} {sentence}", 0
            if not sentence:
                passage = paragraph.passage
            elif random.random() < 0.5:
                passage, shift = f"{sentence} {paragraph.passage}", len(sentence) + 1
            yield paragraph._replace(passage=passage, questions=[_shifted(question, shift)])

    def _distracting(self, question: Question, article: int) -> str:
        weights: Dict[int, float] = defaultdict(float)
        num_sentences = len(self._sentences)
        for word in sorted(_words(question.text)):
            found = self._with_word.get(word, ())
            # Small data has no frequent words.
            if 0 < len(found) <= max(_MAX_SHARE_OF_SENTENCES * num_sentences, 10):
                for number in found:
                    weights[number] += -math.log(len(found) / (num_sentences + 1))
        answers = [answer.text.lower() for answer in question.answers]
        for number in sorted(weights, key=lambda number: (-weights[number], number)):
            sentence, article_of_sentence = self._sentences[number]
            if article_of_sentence != article and not any(a in sentence.lower() for a in answers):
                return sentence
        return ""


@Perturbation.register("joined")
class Joined(Perturbation):
    """
    The passage is two paragraphs, that of the question and another one of its article, in either order.

    Registered as a `Perturbation` with name "joined".
    """

    @overrides
    def prepare(self, paragraphs: Sequence[Paragraph], random: Random) -> None:
        self._passages: Dict[int, List[str]] = defaultdict(list)
        for paragraph in paragraphs:
            self._passages[paragraph.article].append(paragraph.passage)

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        others = [text for text in self._passages[paragraph.article] if text != paragraph.passage]
        if not others:
            yield paragraph
            return
        other = random.choice(others)
        if random.random() < 0.5:
            yield paragraph._replace(passage=f"{paragraph.passage}\n{other}")
        else:
            yield paragraph._replace(
                passage=f"{other}\n{paragraph.passage}",
                questions=[_shifted(item, len(other) + 1) for item in paragraph.questions],
            )


@Perturbation.register("misspelt")
class Misspelt(Perturbation):
    """
    In each question one word of four letters or more is misspelt: two letters are exchanged, or one is left out
    or stands twice. The first letter stays.

    Registered as a `Perturbation` with name "misspelt".
    """

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        yield _with_texts(paragraph, lambda text: _misspell(text, random))


@Perturbation.register("missing_words")
class MissingWords(Perturbation):
    """
    Questions lack some of their words, each with a probability of 0.15.

    Registered as a `Perturbation` with name "missing_words".
    """

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        def leave_out(text: str) -> str:
            words = [word for word in text.split() if random.random() >= _MISSING_SHARE]
            return " ".join(words) or text

        yield _with_texts(paragraph, leave_out)


@Perturbation.register("lower_case")
class LowerCase(Perturbation):
    """
    Questions and passages in small letters.

    Registered as a `Perturbation` with name "lower_case".
    """

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        yield _in_case(paragraph, str.lower)


@Perturbation.register("upper_case")
class UpperCase(Perturbation):
    """
    Questions and passages in capital letters.

    Registered as a `Perturbation` with name "upper_case".
    """

    @overrides
    def change(self, paragraph: Paragraph, random: Random) -> Iterator[Paragraph]:
        yield _in_case(paragraph, str.upper)


def perturb(paragraphs: Iterable[Paragraph], kind: str, seed: int = 0) -> Iterator[Paragraph]:
    """All paragraphs, changed in one way. The same seed gives the same."""
    yield from perturb_some(paragraphs, {kind: 1.0}, seed)


def perturb_some(
    paragraphs: Iterable[Paragraph], shares: Mapping[str, float], seed: int = 0
) -> Iterator[Paragraph]:
    """Paragraphs, of which a share is changed in each of some ways, and the others stay as they are."""
    check_shares(shares)
    random, known = Random(seed), list(paragraphs)
    kinds = {kind: Perturbation.by_name(kind)() for kind in shares}
    for perturbation in kinds.values():
        perturbation.prepare(known, random)
    for paragraph in known:
        drawn = random.random()
        for kind, share in shares.items():
            drawn -= share
            if drawn < 0:
                yield from kinds[kind].change(paragraph, random)
                break
        else:
            yield paragraph


def draw_questions(paragraphs: Sequence[Paragraph], number: int, seed: int = 0) -> List[Paragraph]:
    """So many of the questions, the same for all ways to change a file, in the order of the file."""
    ids = sorted(question.id for paragraph in paragraphs for question in paragraph.questions)
    drawn = set(Random(seed).sample(ids, min(number, len(ids))))
    kept = (
        item._replace(questions=[question for question in item.questions if question.id in drawn])
        for item in paragraphs
    )
    return [paragraph for paragraph in kept if paragraph.questions]


def check_shares(shares: Mapping[str, float]) -> None:
    """A `DataError` if there are no such ways, or if more than all would be changed."""
    known = Perturbation.list_available()
    for kind, share in shares.items():
        if kind not in known:
            raise DataError(f"there is no perturbation {kind!r}; known are: {', '.join(known)}")
        if not share >= 0:
            raise DataError(
                f"the share of the perturbation {kind!r} must be 0 or more, not {share}"
            )
    if sum(shares.values()) > 1 + 1e-9:
        raise DataError(f"the shares of perturbations add up to more than 1: {dict(shares)}")


def _words(text: str) -> List[str]:
    """Its distinct words in small letters."""
    return list(dict.fromkeys(_WORD.findall(text.lower())))


def _shifted(question: Question, shift: int) -> Question:
    """The same question about a passage that begins so many characters later."""
    answers = [answer._replace(start=answer.start + shift) for answer in question.answers]
    return question._replace(answers=answers)


def _with_texts(paragraph: Paragraph, change: Callable[[str], str]) -> Paragraph:
    """The same passage with other texts of questions."""
    questions = [item._replace(text=change(item.text)) for item in paragraph.questions]
    return paragraph._replace(questions=questions)


def _misspell(text: str, random: Random) -> str:
    places = [
        match.span()
        for match in _WORD.finditer(text)
        if match.group().isalpha() and len(match.group()) >= _MIN_MISSPELT_LENGTH
    ]
    if not places:
        return text
    start, end = random.choice(places)
    # Not the first letter.
    place = random.randrange(start + 1, end - 1)
    pair = text[place : place + 2]
    # Letters that are the same cannot be exchanged.
    others = [other for other in (pair[::-1], pair[1], pair[0] + pair) if other != pair]
    return text[:place] + random.choice(others) + text[place + 2 :]


def _in_case(paragraph: Paragraph, change: Callable[[str], str]) -> Paragraph:
    # Letter by letter: some have other numbers of letters in the other case.
    def convert(text: str) -> str:
        return "".join(new if len(new := change(old)) == 1 else old for old in text)

    passage = convert(paragraph.passage)
    questions = [
        question._replace(
            text=convert(question.text),
            answers=[GoldAnswer(passage[a.start : a.end], a.start) for a in question.answers],
        )
        for question in paragraph.questions
    ]
    return paragraph._replace(passage=passage, questions=questions)
