import json
import logging
import os
import zlib
from hashlib import sha256
from itertools import islice
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence
from zipfile import BadZipFile

import numpy
from allennlp.data import Token

from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.data.dataset_readers.squad_json import Answer, Paragraph, Question
from bidaf_plugin.data.tokenizers import Lexicon, TextTokens, TokenTable

logger = logging.getLogger(__name__)

# To be raised when the files change, so that older ones are not read any more.
_FORMAT_VERSION = 2


class TokenizedParagraph(NamedTuple):
    """A paragraph, the tokens of its passage and those of each question."""

    paragraph: Paragraph
    passage_tokens: Sequence[Token]
    question_tokens: List[Sequence[Token]]


class TokenCache:
    """
    Files with the paragraphs of data files and their tokens, in a folder. A file is named by a hash
    of the content of the data file and of all settings that the tokens depend on, so it is never out
    of date. It appears as a whole or not at all, so that any number of processes can share a folder;
    one that is damaged is made anew. It holds numbers and JSON, and nothing that is executed.

    # Parameters

    folder : `str`
        Is made when it is needed.
    settings : `Any`
        What the tokens depend on, as JSON.
    """

    def __init__(self, folder: str, settings: Any) -> None:
        self._folder = folder
        self._settings = settings

    def load(self, content: bytes) -> Optional[List[TokenizedParagraph]]:
        """The paragraphs of a data file with this content, or None if they are not there."""
        path = self._path(content)
        try:
            with numpy.load(path, allow_pickle=False) as columns:
                return list(_from_columns(columns))
        except FileNotFoundError:
            return None
        # What a damaged file may lead to.
        except (
            OSError,
            EOFError,
            ValueError,
            LookupError,
            TypeError,
            BadZipFile,
            zlib.error,
        ) as error:
            logger.info("%s is damaged and will be made anew (%s)", path, error)
            return None

    def save(self, content: bytes, paragraphs: Sequence[TokenizedParagraph]) -> None:
        """Keeps what was made of a data file. Without it all goes on, so a full disk is no error."""
        path = self._path(content)
        try:
            os.makedirs(self._folder, exist_ok=True)
            with open_atomically(path, "wb") as file:
                numpy.savez(file, allow_pickle=False, **_to_columns(paragraphs))
        except OSError as error:
            logger.warning("%s: the tokens cannot be kept (%s)", path, error)

    def _path(self, content: bytes) -> str:
        key = sha256(content)
        key.update(json.dumps([_FORMAT_VERSION, self._settings]).encode())
        return os.path.join(self._folder, f"squad-{key.hexdigest()[:32]}.npz")


def _to_columns(paragraphs: Sequence[TokenizedParagraph]) -> Dict[str, numpy.ndarray]:
    texts = [
        [
            item.paragraph.passage,
            [
                [question.id, question.text, question.answers, question.is_impossible]
                for question in item.paragraph.questions
            ],
        ]
        for item in paragraphs
    ]
    passages = [item.passage_tokens for item in paragraphs]
    questions = [tokens for item in paragraphs for tokens in item.question_tokens]
    return {
        "texts": _json_to_array(texts),
        **_tokens_to_columns("passage", passages),  # type: ignore[arg-type]
        **_tokens_to_columns("question", questions),  # type: ignore[arg-type]
    }


def _tokens_to_columns(name: str, texts: Sequence[TextTokens]) -> Dict[str, numpy.ndarray]:
    # The texts may have come with several lexicons, of which one is made.
    lexicon = Lexicon()
    new_numbers: Dict[int, numpy.ndarray] = {}
    for tokens in texts:
        if id(tokens.lexicon) not in new_numbers:
            new_numbers[id(tokens.lexicon)] = lexicon.numbers(tokens.lexicon.words)
    word_numbers = [new_numbers[id(tokens.lexicon)][tokens.word_numbers] for tokens in texts]
    return {
        f"{name}_words": _json_to_array(lexicon.words),
        f"{name}_word_numbers": numpy.concatenate(word_numbers),
        f"{name}_starts": numpy.concatenate([tokens.starts for tokens in texts]),
        f"{name}_lengths": numpy.array([len(tokens) for tokens in texts], dtype=numpy.int32),
    }


def _from_columns(columns: Mapping[str, numpy.ndarray]) -> Iterator[TokenizedParagraph]:
    paragraphs = [
        Paragraph(
            place="",
            passage=passage,
            questions=[
                Question(id, text, [Answer(*answer) for answer in answers], is_impossible)
                for id, text, answers, is_impossible in questions
            ],
        )
        for passage, questions in _array_to_json(columns["texts"])
    ]
    question_texts = [question.text for item in paragraphs for question in item.questions]
    passages = _tokens_from_columns("passage", columns, [item.passage for item in paragraphs])
    questions = iter(_tokens_from_columns("question", columns, question_texts))
    for paragraph, passage_tokens in zip(paragraphs, passages, strict=True):
        question_tokens: List[Sequence[Token]] = list(islice(questions, len(paragraph.questions)))
        yield TokenizedParagraph(paragraph, passage_tokens, question_tokens)


def _tokens_from_columns(
    name: str, columns: Mapping[str, numpy.ndarray], texts: Sequence[str]
) -> List[TextTokens]:
    words = _array_to_json(columns[f"{name}_words"])
    word_numbers, starts = columns[f"{name}_word_numbers"], columns[f"{name}_starts"]
    word_lengths = numpy.array([len(word) for word in words], dtype=numpy.int32)
    lexicon = Lexicon(words)
    table = TokenTable(lexicon, word_numbers, starts, starts + word_lengths[word_numbers])
    rows = numpy.cumsum([0, *columns[f"{name}_lengths"]]).tolist()
    if rows[-1] != len(word_numbers) or len(lexicon) != len(words):
        raise ValueError("its columns do not fit each other")
    return [
        TextTokens(text, table, first_row, end_row)
        for text, first_row, end_row in zip(texts, rows[:-1], rows[1:], strict=True)
    ]


def _json_to_array(value: Any) -> numpy.ndarray:
    return numpy.frombuffer(json.dumps(value).encode("utf-8"), dtype=numpy.uint8)


def _array_to_json(array: numpy.ndarray) -> Any:
    return json.loads(array.tobytes())
