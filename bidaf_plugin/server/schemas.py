"""
What the API takes and gives, as the OpenAPI description has it. Characters are counted as Unicode code
points.
"""

from typing import Annotated, Any, Dict, List, Literal, Optional, Union

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

MAX_PASSAGE_CHARACTERS = 200_000
MAX_QUESTION_CHARACTERS = 2_000
MAX_PASSAGES = 50
MAX_N_BEST = 20
MAX_BATCH = 100
# Of entities; no other object has more fields.
MAX_NAMES = 1_000

# What holds more than blanks.
_TEXT_PATTERN = r"\S"
QuestionText = Annotated[
    str, StringConstraints(max_length=MAX_QUESTION_CHARACTERS, pattern=_TEXT_PATTERN)
]
PassageText = Annotated[
    str, StringConstraints(max_length=MAX_PASSAGE_CHARACTERS, pattern=_TEXT_PATTERN)
]
Name = Annotated[str, StringConstraints(max_length=200)]
# Not a tuple, which descriptions of OpenAPI 3.1 and their readers disagree about.
Span = Annotated[List[int], Field(min_length=2, max_length=2)]
JsonObject = Dict[str, Any]

_MILL: JsonObject = {
    "question": "Who built it?",
    "passage": "The mill was built by Ada Orn in 1871.",
}


class _Request(BaseModel):
    # A misspelt name should not go unnoticed.
    model_config = ConfigDict(extra="forbid", strict=True)


class Question(_Request):
    """A question on one `passage`, or on several `passages`."""

    model_config = ConfigDict(json_schema_extra={"example": _MILL})

    question: QuestionText = Field(description="For cloze models with one `@placeholder`.")
    passage: Optional[PassageText] = Field(None, description="The text that holds the answer.")
    passages: Optional[List[PassageText]] = Field(
        None,
        min_length=1,
        max_length=MAX_PASSAGES,
        description="In place of `passage`, texts of which one may hold the answer.",
    )
    id: Optional[Name] = Field(None, description="Given back with the answer.")
    n_best: Optional[int] = Field(
        None, ge=1, le=MAX_N_BEST, description="How many answers to list (span models)."
    )
    names: Optional[Dict[Name, Name]] = Field(
        None,
        max_length=MAX_NAMES,
        description='Names of entities (cloze models), `{"@entity1": "Ada"}`.',
    )

    @model_validator(mode="after")
    def _check_passages(self) -> "Question":
        if (self.passage is None) == (self.passages is None):
            raise ValueError("expected either 'passage' or 'passages'")
        return self


class AnswerRequest(Question):
    """A question, and the model that is asked."""

    model: Optional[Name] = Field(None, description="By default the first of `/api/models`.")


class AnswersRequest(_Request):
    """Several questions, which one model answers together."""

    model_config = ConfigDict(json_schema_extra={"example": {"questions": [_MILL]}})

    # The first bad question is enough: they might have a thousand wrong fields each.
    questions: List[Question] = Field(min_length=1, max_length=MAX_BATCH, fail_fast=True)
    model: Optional[Name] = None


class AttentionRequest(_Request):
    """A question on a passage, of which the attention is asked for."""

    model_config = ConfigDict(json_schema_extra={"example": _MILL})

    question: QuestionText
    passage: PassageText
    model: Optional[Name] = None


class RankedAnswer(BaseModel):
    """An answer of an n-best list."""

    text: str
    probability: float = Field(description="Of this text, in all places where it stands.")
    characters: Optional[Span] = Field(description="Its most probable place, `[first, end)`.")
    tokens: Optional[Span] = Field(description="The same in tokens, inclusive.")
    passage_index: int


class SpanAnswer(BaseModel):
    """What a span model answers. Without an answer, the text is empty and the spans are null."""

    model: str
    id: Optional[str]
    best_span_str: str
    best_span: Optional[Span] = Field(description="First and last token, inclusive.")
    best_span_characters: Optional[Span] = Field(description="`passage[first:end]`.")
    confidence: float
    passage_index: Optional[int] = Field(None, description="If there were `passages`.")
    no_answer_probability: Optional[float] = Field(None, description="If the model knows it.")
    n_best: Optional[List[RankedAnswer]] = Field(None, description="If it was asked for.")


class Mention(BaseModel):
    """A place of an entity in the passage."""

    word: int
    characters: Span
    probability: float


class Candidate(BaseModel):
    """An entity of the passage."""

    entity: str
    name: Optional[str]
    probability: float
    mentions: List[Mention]


class ClozeAnswer(BaseModel):
    """What a cloze model answers. In a passage without entities, the best one is null."""

    model: str
    id: Optional[str]
    best_entity: Optional[str]
    best_entity_name: Optional[str]
    confidence: float
    candidates: List[Candidate]


Answer = Union[SpanAnswer, ClozeAnswer]


class Answers(BaseModel):
    """In the order of the questions."""

    answers: List[Answer]


class AttentionAnswer(BaseModel):
    """The paper's Figure 3 in numbers."""

    model: str
    question_words: List[str]
    question_offsets: List[Span]
    passage_words: List[str]
    passage_offsets: List[Span]
    matrix: List[List[float]] = Field(
        description="For each question word, the attention of each passage word to it."
    )
    passage_weights: Optional[List[float]] = Field(
        description="Null if the model has no query-to-context attention."
    )


class ModelDescription(BaseModel):
    """A loaded model."""

    name: str
    kind: Literal["span", "cloze"]
    has_attention: bool
    takes_passages: bool
    knows_no_answer: bool
    description: str


class Limits(BaseModel):
    """What a request may hold."""

    max_passage_characters: int = MAX_PASSAGE_CHARACTERS
    max_question_characters: int = MAX_QUESTION_CHARACTERS
    max_passages: int = MAX_PASSAGES
    max_n_best: int = MAX_N_BEST
    max_batch: int = MAX_BATCH


class Models(BaseModel):
    """The loaded models, of which the first is the default."""

    models: List[ModelDescription]
    limits: Limits


class Health(BaseModel):
    """Whether requests are taken, and how many questions wait for their answers."""

    status: Literal["ok", "stopping", "failed"]
    queue: int
    error: Optional[str] = Field(None, description="If it has failed, what is wrong.")


class Error(BaseModel):
    """Why there is no answer, in one sentence."""

    error: str
