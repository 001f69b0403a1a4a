"""
From a tokenised paragraph to the instances of `BidafSquadReader`.
"""

from bisect import bisect_left, bisect_right
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence

from allennlp.common.util import sanitize
from allennlp.data import Instance, Token
from allennlp.data.fields import MetadataField

from bidaf_plugin.data.dataset_readers.squad_json import Answer, Paragraph
from bidaf_plugin.data.fields import AnswerSpansField, CompactTextField, SharedTextField
from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE, TokenSpan
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets


class TokenizedParagraph(NamedTuple):
    """A paragraph, the tokens of its passage and those of each question."""

    paragraph: Paragraph
    passage_tokens: Sequence[Token]
    question_tokens: List[Sequence[Token]]


class QuestionMetadata(Mapping[str, Any]):
    """
    What the model need not see of an instance: a mapping with the names of its parameters as keys. It
    takes a third of the memory of a dictionary, and AllenNLP does not go through it token by token
    when it moves a batch to its device.

    # Parameters

    id : `str`
    question : `str`
    passage : `str`
    question_tokens : `Sequence[Token]`
    passage_tokens : `Sequence[Token]`
    answers : `Sequence[str]`
        The gold texts, in the order of the file.
    """

    __slots__ = ["id", "question", "passage", "question_tokens", "passage_tokens", "answers"]

    def __init__(
        self,
        id: str,
        question: str,
        passage: str,
        question_tokens: Sequence[Token],
        passage_tokens: Sequence[Token],
        answers: Sequence[str],
    ) -> None:
        self.id = id
        self.question = question
        self.passage = passage
        self.question_tokens = question_tokens
        self.passage_tokens = passage_tokens
        self.answers = list(answers)

    def __getitem__(self, key: str) -> Any:
        if key not in QuestionMetadata.__slots__:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(QuestionMetadata.__slots__)

    def __len__(self) -> int:
        return len(QuestionMetadata.__slots__)

    def changed(self, **values: Any) -> "QuestionMetadata":
        """A copy with other values for some of the keys."""
        return QuestionMetadata(**{**self, **values})

    def to_json(self) -> Dict[str, Any]:
        """For AllenNLP's `sanitize`."""
        return sanitize(dict(self))

    human_readable_repr = to_json


def make_instances(
    tokenized: TokenizedParagraph,
    max_question_length: Optional[int] = None,
    max_passage_length: Optional[int] = None,
) -> Iterator[Optional[Instance]]:
    """The instances of a paragraph, with None for each question that a limit leaves out."""
    paragraph, passage_tokens, tokens_of_questions = tokenized
    passage_tokens = passage_tokens[:max_passage_length]
    passage_field = SharedTextField(passage_tokens)
    starts, ends = character_offsets(passage_tokens)
    for question, question_tokens in zip(paragraph.questions, tokens_of_questions, strict=True):
        spans = [find_token_span(starts, ends, answer) for answer in question.answers]
        too_long = max_question_length is not None and len(question_tokens) > max_question_length
        if too_long or None in spans:
            yield None
            continue
        metadata = QuestionMetadata(
            question.id,
            question.text,
            paragraph.passage,
            question_tokens,
            passage_tokens,
            [answer.text for answer in question.answers],
        )
        if question.is_impossible:
            spans = [IMPOSSIBLE]
        yield Instance(
            {
                "question": CompactTextField(question_tokens),
                "passage": passage_field,
                "metadata": MetadataField(metadata),
                "answer_spans": AnswerSpansField(spans),  # type: ignore[arg-type]
            }
        )


def find_token_span(starts: List[int], ends: List[int], answer: Answer) -> Optional[TokenSpan]:
    """
    The first and the last (inclusive) of the tokens, given by their offsets, that overlap the
    characters of `answer`; None if there are none, or if the answer reaches beyond the last token.
    """
    answer_end = answer.start + len(answer.text.rstrip())
    first = bisect_right(ends, answer.start)
    last = bisect_left(starts, answer_end) - 1
    if first > last or ends[-1] < answer_end:
        return None
    return first, last
