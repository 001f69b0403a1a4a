import logging
from bisect import bisect_left, bisect_right
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

import numpy
from allennlp.data import DatasetReader, Instance, Token, TokenIndexer, Tokenizer
from allennlp.data.fields import ArrayField, MetadataField, TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.dataset_readers.squad_json import Answer, Paragraph, Question, read_squad_json
from bidaf_plugin.fields import SharedTextField
from bidaf_plugin.tokenizers import PtbTokenizer

logger = logging.getLogger(__name__)

TokenSpan = Tuple[int, int]
NO_SPAN = (-1, -1)


@DatasetReader.register("bidaf_squad")
class BidafSquadReader(DatasetReader):
    """
    Reads [SQuAD](https://arxiv.org/abs/1606.05250) files: JSON, plain or gzipped, path or URL, with
    or without answers. Each paragraph is tokenised once, and its tokens are shared by its questions.

    An `Instance` has the fields

    - `question` and `passage` : `TextField`.
    - `answer_spans` : `ArrayField`, shape `(num_answers, 2)`: first and last (inclusive) token of each
      gold answer, in the order of the file, or -1 and -1 where there is none. An answer covers all
      tokens that overlap its characters. Which of them is learned is the output layer's choice.
    - `metadata` : `id`, `question`, `passage` (texts), `question_tokens`, `passage_tokens` (with
      character offsets) and `answers` (gold texts).

    Registered as a `DatasetReader` with name "bidaf_squad".

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `PtbTokenizer()`)
        For passages.
    question_tokenizer : `Tokenizer`, optional (default = `tokenizer`)
        For questions. The authors cut compounds in contexts but not in questions.
    token_indexers : `Dict[str, TokenIndexer]`, optional
        Default: `{"tokens": SingleIdTokenIndexer(lowercase_tokens=True)}`.
    max_question_length : `int`, optional (default = `None`)
        Questions with more tokens are left out. For the training reader only (the authors: 30).
    max_passage_length : `int`, optional (default = `None`)
        Passages are cut after this many tokens, and questions with an answer that ends beyond are
        left out. For the training reader only (the authors: 400). Give `validation_dataset_reader`
        neither limit: the score is over all questions and whole passages. Text that comes through
        `text_to_instance` is never cut.
    """

    def __init__(
        self,
        tokenizer: Optional[Tokenizer] = None,
        question_tokenizer: Optional[Tokenizer] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        max_question_length: Optional[int] = None,
        max_passage_length: Optional[int] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        self._tokenizer = tokenizer or PtbTokenizer()
        self._question_tokenizer = question_tokenizer or self._tokenizer
        self._token_indexers = token_indexers or {
            "tokens": SingleIdTokenIndexer(lowercase_tokens=True)
        }
        self._max_question_length = max_question_length
        self._max_passage_length = max_passage_length

    @overrides
    def _read(self, file_path: str) -> Iterable[Instance]:
        num_left_out = 0
        # Whole paragraphs are dealt out to workers, so that no two workers tokenise the same one.
        for paragraph in self.shard_iterable(read_squad_json(file_path)):
            for instance in self._paragraph_to_instances(paragraph):
                if instance is None:
                    num_left_out += 1
                else:
                    yield instance
        if num_left_out:
            logger.info(
                "%s: %d questions left out by the length limits (question %s, passage %s tokens)",
                file_path,
                num_left_out,
                self._max_question_length,
                self._max_passage_length,
            )

    def _paragraph_to_instances(self, paragraph: Paragraph) -> Iterable[Optional[Instance]]:
        """The instances of a paragraph, with None for each question that a limit leaves out."""
        passage_tokens = self._tokenizer.tokenize(paragraph.passage)[: self._max_passage_length]
        passage_field = SharedTextField(passage_tokens)
        for question in paragraph.questions:
            question_tokens = self._question_tokenizer.tokenize(question.text)
            spans = [find_token_span(passage_tokens, answer) for answer in question.answers]
            too_long = (
                self._max_question_length is not None
                and len(question_tokens) > self._max_question_length
            )
            if too_long or None in spans:
                yield None
            else:
                yield _make_instance(
                    question_tokens, passage_field, paragraph.passage, question, spans
                )

    @overrides(check_signature=False)
    def text_to_instance(  # type: ignore[override]
        self,
        question: str,
        passage: str,
        id: Optional[str] = None,
        answers: Sequence[Answer] = (),
    ) -> Instance:
        """
        # Parameters

        question : `str`
        passage : `str`
        id : `str`, optional
            Given back with the prediction.
        answers : `Sequence[Answer]`, optional
            Gold answers, for a loss and a score.
        """
        question_tokens = self._question_tokenizer.tokenize(question)
        passage_tokens = self._tokenizer.tokenize(passage)
        for name, tokens in (("question", question_tokens), ("passage", passage_tokens)):
            if not tokens:
                raise DataError(f"the {name} is empty")
        spans = [find_token_span(passage_tokens, answer) for answer in answers]
        if None in spans:
            raise DataError(f"the answer {answers[spans.index(None)]} is not inside the passage")
        return _make_instance(
            question_tokens,
            SharedTextField(passage_tokens),
            passage,
            Question("" if id is None else id, question, list(answers)),
            spans,
        )

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        instance.fields["question"].token_indexers = self._token_indexers  # type: ignore
        instance.fields["passage"].token_indexers = self._token_indexers  # type: ignore


def _make_instance(
    question_tokens: List[Token],
    passage_field: SharedTextField,
    passage: str,
    question: Question,
    spans: Sequence[Optional[TokenSpan]],
) -> Instance:
    fields: Dict[str, Any] = {
        "question": TextField(question_tokens),
        "passage": passage_field,
        "metadata": MetadataField(
            {
                "id": question.id,
                "question": question.text,
                "passage": passage,
                "question_tokens": question_tokens,
                "passage_tokens": passage_field.tokens,
                "answers": [answer.text for answer in question.answers],
            }
        ),
    }
    fields["answer_spans"] = ArrayField(
        numpy.array(spans or [NO_SPAN]), padding_value=NO_SPAN[0], dtype=numpy.int64
    )
    return Instance(fields)


def find_token_span(tokens: Sequence[Token], answer: Answer) -> Optional[TokenSpan]:
    """
    The first and the last (inclusive) of the tokens that overlap the characters of `answer`; None
    if there are none, or if the answer reaches beyond the last token.
    """
    end = answer.start + len(answer.text.rstrip())
    first = bisect_right(tokens, answer.start, key=lambda token: token.idx_end)
    last = bisect_left(tokens, end, key=lambda token: token.idx) - 1
    if first > last or tokens[-1].idx_end < end:  # type: ignore[operator]
        return None
    return first, last
