"""
From a tokenised paragraph to the instances of `BidafSquadReader`.
"""

from typing import Iterator, Optional, Sequence

from allennlp.data import Instance, Token
from allennlp.data.fields import MetadataField

from bidaf_plugin.data.dataset_readers.squad_json import Question
from bidaf_plugin.data.dataset_readers.token_cache import TokenizedParagraph
from bidaf_plugin.data.dataset_readers.token_spans import character_offsets, find_token_span
from bidaf_plugin.data.fields import (
    AnswerSpansField,
    CompactTextField,
    QuestionMetadata,
    SharedTextField,
)
from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE, TokenSpan


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
        else:
            yield make_instance(question, question_tokens, paragraph.passage, passage_field, spans)


def make_instance(
    question: Question,
    question_tokens: Sequence[Token],
    passage: str,
    passage_field: SharedTextField,
    spans: Sequence[Optional[TokenSpan]],
) -> Instance:
    metadata = QuestionMetadata(
        question.id,
        question.text,
        passage,
        question_tokens,
        passage_field.tokens,
        [answer.text for answer in question.answers],
    )
    if question.is_impossible:
        spans = [IMPOSSIBLE]
    return Instance(
        {
            "question": CompactTextField(question_tokens),
            "passage": passage_field,
            "metadata": MetadataField(metadata),
            "answer_spans": AnswerSpansField(spans),  # type: ignore[arg-type]
        }
    )
