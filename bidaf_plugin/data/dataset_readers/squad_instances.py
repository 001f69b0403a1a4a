"""
From a tokenised paragraph to the instances of `BidafSquadReader`.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from typing import Any, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Type

from allennlp.common.util import sanitize
from allennlp.data import Instance, Token
from allennlp.data.fields import MetadataField

from bidaf_plugin.data.dataset_readers.squad_json import Paragraph
from bidaf_plugin.data.fields import AnswerSpansField, CompactTextField, SharedTextField
from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE, TokenSpan
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets


class TokenizedParagraph(NamedTuple):
    """A paragraph, the tokens of its passage and those of each question."""

    paragraph: Paragraph
    passage_tokens: Sequence[Token]
    question_tokens: List[Sequence[Token]]


@dataclass(slots=True, eq=False)
class QuestionMetadata(Mapping[str, Any]):
    """
    What the model need not see of an instance: a mapping with the names of its attributes as keys. It
    takes a third of the memory of a dictionary, and AllenNLP does not go through it token by token
    when it moves a batch to its device. `answers` are the gold texts, in the order of the file.
    """

    id: str
    question: str
    passage: str
    question_tokens: Sequence[Token]
    passage_tokens: Sequence[Token]
    answers: List[str]

    # What these methods look at are the names from above, as `dataclass` keeps them.
    def __getitem__(self, key: str) -> Any:
        if key not in self.__match_args__:
            raise KeyError(key)
        return getattr(self, key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.__match_args__)

    def __len__(self) -> int:
        return len(self.__match_args__)

    def changed(self, **values: Any) -> "QuestionMetadata":
        """A copy with other values for some of the keys."""
        return replace(self, **values)

    def to_json(self) -> Dict[str, Any]:
        """For AllenNLP's `sanitize`."""
        return sanitize(dict(self))

    human_readable_repr = to_json


def make_instances(
    tokenized: TokenizedParagraph,
    max_question_length: Optional[int] = None,
    max_passage_length: Optional[int] = None,
    question_field: Type[CompactTextField] = CompactTextField,
) -> Iterator[Optional[Instance]]:
    """The instances of a paragraph, with None for each question that a limit leaves out."""
    paragraph, passage_tokens, tokens_of_questions = tokenized
    passage_tokens = passage_tokens[:max_passage_length]
    passage_field = SharedTextField(passage_tokens)
    offsets = character_offsets(passage_tokens)
    for question, question_tokens in zip(paragraph.questions, tokens_of_questions, strict=True):
        spans = [find_token_span(offsets, *answer.characters) for answer in question.answers]
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
                "question": question_field(question_tokens),
                "passage": passage_field,
                "metadata": MetadataField(metadata),
                "answer_spans": AnswerSpansField(spans),  # type: ignore[arg-type]
            }
        )


def find_token_span(
    offsets: Tuple[List[int], List[int]], first_character: int, end: int
) -> Optional[TokenSpan]:
    """
    The first and the last (inclusive) of the tokens, given by where each starts and ends, that overlap
    some characters; None if there are none, or if these reach beyond the last token.
    """
    starts, ends = offsets
    first = bisect_right(ends, first_character)
    last = bisect_left(starts, end) - 1
    if first > last or ends[-1] < end:
        return None
    return first, last
