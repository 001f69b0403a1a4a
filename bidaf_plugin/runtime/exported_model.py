from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy

from bidaf_plugin.runtime.batches_by_length import batches_by_length
from bidaf_plugin.runtime.errors import ExportedModelError
from bidaf_plugin.runtime.lexicon import TABLES_LOCK
from bidaf_plugin.runtime.options import AnswerOptions
from bidaf_plugin.runtime.pieces import PieceSettings
from bidaf_plugin.runtime.ranking import Ranking, ReadPiece
from bidaf_plugin.runtime.records import Record, check_record
from bidaf_plugin.runtime.session import Session
from bidaf_plugin.runtime.text_cutter import TextCutter
from bidaf_plugin.runtime.tokenized_text import TokenizedText
from bidaf_plugin.runtime.treebank_rules import TreebankRules
from bidaf_plugin.runtime.word_cutter import WordCutter
from bidaf_plugin.runtime.word_rows import (
    RowTable,
    mark_forms,
    rows_of_characters,
    rows_of_forms,
    rows_of_words,
)

# Questions and padded passage tokens per batch, at most: what fits into the caches of a CPU.
_MAX_QUESTIONS = 128
_MAX_TOKENS = 8_000
# No more pieces of passages are held at a time.
_PIECES_AT_ONCE = 2_000
# Of words and characters that the vocabulary does not have.
_UNKNOWN = 1


class Distribution(NamedTuple):
    """
    What a model says of a question and a passage.

    start_logits, end_logits : `numpy.ndarray`
        Shape `(num_tokens,)`, in double precision and divided by the temperature.
    no_answer_logits : `List[float]`
        The further outcome of either softmax; None for models that do not know of it.
    """

    start_logits: numpy.ndarray
    end_logits: numpy.ndarray
    no_answer_logits: Optional[List[float]]


class _Piece(NamedTuple):
    """A piece of a passage, or a whole one, with the question that is asked about it."""

    question_index: int
    question: TokenizedText
    text: TokenizedText
    passage_index: int
    first_token: int
    prior: float


class ExportedModel:
    """
    Answers questions about passages with a model that `allennlp bidaf export` wrote, on the CPU.

    # Parameters

    path : `Union[str, Path]`
        The `.onnx` or the `.zip` file, or the folder that the latter was unpacked to.
    num_threads : `int`, optional (default = `None`)
        See `Session`.

    # Attributes

    max_answer_length : `int`
        In tokens; None for no limit.
    no_answer_threshold : `float`
        The probability of no answer above which it is the answer; None for that of the best span. Only
        for models that know of questions without an answer.
    metadata : `Dict[str, Any]`
        What the file says of itself: see `Session`.
    """

    def __init__(self, path: Union[str, Path], num_threads: Optional[int] = None) -> None:
        self._path = path
        self._session = Session(path, num_threads)
        self.metadata: Dict[str, Any] = self._session.metadata
        try:
            self._read_settings(self.metadata["settings"])
            # What does not fit together shows here, and not at the first question.
            self.answer("Who built it?", "The mill was built by Ada Orn in 1871.")
        except ExportedModelError:
            raise
        except Exception as error:
            # Whatever it is: the file may come from anywhere, and nothing else is at work yet.
            message = str(error).partition("\n")[0]
            raise ExportedModelError(
                f"{path}: its settings are not those of an exported model "
                f"({type(error).__name__}: {message:.200})"
            ) from error

    def _read_settings(self, settings: Dict[str, Any]) -> None:
        rules = TreebankRules(settings["tokenizer_rules"])
        self._question_cutter, self._passage_cutter = (
            TextCutter(WordCutter(rules.cut, **settings[name]).cut, TokenizedText)
            for name in ("question_tokenizer", "passage_tokenizer")
        )
        self._temperature = float(settings["temperature"])
        self._pieces = PieceSettings(**settings["pieces"])
        max_tokens, stride, weight, piece_tokens = self._pieces
        are_whole = all(type(number) is int for number in (max_tokens, stride, piece_tokens))
        # What a short passage does not need.
        if not (are_whole and 1 <= stride <= piece_tokens <= max_tokens and weight >= 0):
            raise ValueError(str(self._pieces))
        self.max_answer_length: Optional[int] = settings["max_answer_length"]
        self.no_answer_threshold: Optional[float] = settings["no_answer_threshold"]
        vocabulary = self.metadata["vocabulary"]
        index_of = {
            name: partial(_look_up, {item: index for index, item in enumerate(vocabulary[name])})
            for name in vocabulary
        }
        makers = {
            "words": lambda words: rows_of_words(words, index_of["tokens"], settings["lowercase"]),
            "characters": lambda words: rows_of_characters(
                words, index_of["token_characters"], settings["max_word_length"]
            ),
            "matches": rows_of_forms,
        }
        # Those that the network reads.
        kinds = {name.partition("_")[2] for name in self._session.input_names} - {"lengths"}
        self._row_makers = {kind: makers[kind] for kind in kinds}

    @property
    def options(self) -> AnswerOptions:
        """How questions are answered, if it is not said otherwise."""
        return AnswerOptions(self._pieces, self.max_answer_length, self.no_answer_threshold)

    def answer(self, question: str, passage: str) -> Dict[str, Any]:
        """Answers one question: see `answer_all`."""
        return self.answer_all([{"question": question, "passage": passage}])[0]

    def answer_all(
        self, records: Sequence[Dict[str, Any]], options: Optional[AnswerOptions] = None
    ) -> List[Dict[str, Any]]:
        """
        Answers any number of questions; many at once are faster than one by one.

        # Parameters

        records : `Sequence[Dict[str, Any]]`
            With `question`, `passage` (or a list of `passages`) and, if wanted, `id` and `n_best`.
        options : `AnswerOptions`, optional (default = `None`)
            In place of those of the model.

        # Returns

        `List[Dict[str, Any]]`
            In the order of the questions, with the keys that `SpanPredictor` gives: `id`,
            `best_span_str` (the answer, cut from the passage), `best_span` (first and last token,
            inclusive), `best_span_characters` (first character and one past the last), `confidence`
            (the probability of this span); `passage_index` if there were `passages`; `n_best` if it was asked
            for; for models that know of questions without an answer `no_answer_probability`, and for no answer an
            empty text and None for the rest.
        """
        options = options or self.options
        checked = [check_record(record) for record in records]
        rankings: List[Ranking] = []
        pieces = self._cut(checked, options, rankings)
        while group := list(islice(pieces, _PIECES_AT_ONCE)):
            read = self._read([(piece.question, piece.text) for piece in group])
            for piece, distribution in zip(group, read, strict=True):
                of_passage = piece.passage_index, piece.first_token, piece.prior
                offsets = numpy.stack([piece.text.starts, piece.text.ends])
                rankings[piece.question_index].add(
                    ReadPiece(piece.text.text, offsets, *of_passage), *distribution
                )
        return [
            ranking.to_record(
                "" if record.id is None else record.id,
                record.is_list,
                options.no_answer_threshold,
            )
            for record, ranking in zip(checked, rankings, strict=True)
        ]

    def distributions(self, pairs: Sequence[Tuple[str, str]]) -> List[Distribution]:
        """What the model says of questions and passages; these are read as a whole, however long."""
        questions = self._question_cutter.cut([question for question, _ in pairs])
        passages = self._passage_cutter.cut([passage for _, passage in pairs])
        return self._read(list(zip(questions, passages, strict=True)))

    def cut_question(self, question: str, max_tokens: int) -> str:
        """A question without the words beyond so many."""
        (text,) = self._question_cutter.cut([question])
        return question[: text.ends[:max_tokens].max(initial=0)]

    def _cut(
        self, records: Sequence[Record], options: AnswerOptions, rankings: List[Ranking]
    ) -> Iterator[_Piece]:
        """The pieces of all passages, and a ranking for each question."""
        questions = self._question_cutter.cut([record.question for record in records])
        # A passage that several questions are about is cut once.
        texts = list(dict.fromkeys(text for record in records for text in record.passages))
        passages = dict(zip(texts, self._passage_cutter.cut(texts), strict=True))
        for index, (record, question) in enumerate(zip(records, questions, strict=True)):
            parts = [
                (passage_index, first, text.part(first, first + size))
                for passage_index, text in enumerate(map(passages.__getitem__, record.passages))
                for firsts in [options.pieces.first_tokens(len(text))]
                for size in [len(text) if len(firsts) == 1 else options.pieces.piece_tokens]
                for first in firsts
            ]
            rankings.append(Ranking(len(parts), record.n_best, options.max_answer_length))
            words_of_pieces = [part.words() for *_, part in parts] if len(parts) > 1 else [[]]
            priors = options.pieces.priors(question.words(), words_of_pieces)
            for (passage_index, first, part), prior in zip(parts, priors, strict=True):
                yield _Piece(index, question, part, passage_index, first, prior)

    def _read(self, pairs: Sequence[Tuple[TokenizedText, TokenizedText]]) -> List[Distribution]:
        """What the network says of questions and passages, in batches of passages of similar length."""
        question_lengths = [len(question) for question, _ in pairs]
        passage_lengths = [len(passage) for _, passage in pairs]
        limits = _MAX_QUESTIONS, _MAX_TOKENS
        found: Dict[int, Distribution] = {}
        for indices in batches_by_length(passage_lengths, *limits, question_lengths):
            batch = [pairs[index] for index in indices]
            outputs = self._session.run(self._make_arrays(batch))
            logits = {
                name: array.astype(numpy.float64) / self._temperature
                for name, array in outputs.items()
                if name.endswith("_logits")
            }
            no_answer_logits = logits.get("no_answer_logits")
            for row, index in enumerate(indices):
                length = passage_lengths[index]
                start_logits, end_logits = (
                    logits[f"{side}_logits"][row, :length] for side in ("start", "end")
                )
                if not numpy.isfinite([start_logits, end_logits]).all():
                    raise ExportedModelError(f"{self._path}: its weights are no numbers")
                no_answer = None if no_answer_logits is None else no_answer_logits[row].tolist()
                found[index] = Distribution(start_logits, end_logits, no_answer)
        return [found[index] for index in range(len(pairs))]

    def _make_arrays(
        self, batch: Sequence[Tuple[TokenizedText, TokenizedText]]
    ) -> Dict[str, numpy.ndarray]:
        """What the network reads of questions and passages, padded with 0."""
        arrays: Dict[str, numpy.ndarray] = {}
        for side, texts in zip(("question", "passage"), zip(*batch, strict=True), strict=True):
            arrays[f"{side}_lengths"] = numpy.array([len(text) for text in texts])
            for kind, make_rows in self._row_makers.items():
                arrays[f"{side}_{kind}"] = _pad([_rows(text, kind, make_rows) for text in texts])
        if "matches" in self._row_makers:
            question, passage = arrays["question_matches"], arrays["passage_matches"]
            arrays["question_matches"] = mark_forms(question, passage)
            arrays["passage_matches"] = mark_forms(passage, question)
        return {name: arrays[name].astype(numpy.int64) for name in self._session.input_names}


def _look_up(index_of_item: Dict[str, int], item: str) -> int:
    return index_of_item.get(item, _UNKNOWN)


def _rows(text: TokenizedText, kind: str, make_rows: Any) -> numpy.ndarray:
    """The rows of the words of a text, which are found once per distinct word."""
    with TABLES_LOCK:
        table = text.lexicon.tables.setdefault(kind, RowTable(make_rows))
        return table.rows(text.lexicon.words).take(text.word_numbers, axis=0)


def _pad(rows: List[numpy.ndarray]) -> numpy.ndarray:
    """Shape: (num_texts, length of the longest, ...)"""
    padded = numpy.zeros((len(rows), max(map(len, rows)), *rows[0].shape[1:]), dtype=numpy.int64)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded
