import gc
import logging
from itertools import islice
from typing import Any, Dict, Iterable, Iterator, List, Optional, Sequence

from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader, Instance, TokenIndexer, Tokenizer
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.perturbations import check_shares, perturb_some
from bidaf_plugin.data.dataset_readers.squad_instances import (
    TokenizedParagraph,
    find_token_span,
    make_instances,
)
from bidaf_plugin.data.dataset_readers.squad_json import (
    GoldAnswer,
    Paragraph,
    Question,
    read_squad_json,
)
from bidaf_plugin.data.fields import CompactTextField, QuestionTextField
from bidaf_plugin.data.token_indexers import WordIdIndexer
from bidaf_plugin.data.tokenizers import PtbTokenizer
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets, with_offsets

logger = logging.getLogger(__name__)

# Enough that the tokenizer can work on many texts at once.
_PARAGRAPHS_AT_ONCE = 256
_INSTANCES_AT_ONCE = 1_000


@DatasetReader.register("bidaf_squad")
class BidafSquadReader(DatasetReader):
    """
    Reads [SQuAD](https://arxiv.org/abs/1606.05250) files, those of
    [SQuAD 2.0](https://arxiv.org/abs/1806.03822) too: JSON, plain or gzipped, path or URL, with or
    without answers. Each paragraph is tokenised once, and its tokens are shared by its questions.

    An `Instance` has the fields

    - `question` and `passage` : `TextField`.
    - `answer_spans` : `AnswerSpansField`, shape `(num_answers, 2)`: first and last (inclusive) token
      of each gold answer, in the order of the file; -1 and -1 where none is known, -2 and -2 where
      the file says that the question cannot be answered (`is_impossible`). An answer covers all tokens
      that overlap its characters. Which of them is learned is the output layer's choice.
    - `metadata` : `id`, `question`, `passage` (texts), `question_tokens`, `passage_tokens` (with
      character offsets) and `answers` (gold texts).

    Registered as a `DatasetReader` with name "bidaf_squad".

    # Parameters

    tokenizer : `Tokenizer`, optional (default = `PtbTokenizer()`)
        For passages.
    question_tokenizer : `Tokenizer`, optional (default = `tokenizer`)
        For questions. The authors cut compounds in contexts but not in questions: `{"type": "ptb",
        "split_compounds": false, "whole_compounds": true}`.
    token_indexers : `Dict[str, TokenIndexer]`, optional
        Default: `{"tokens": WordIdIndexer(lowercase_tokens=True)}`.
    max_question_length : `int`, optional (default = `None`)
        Questions with more tokens are left out. For the training reader only (the authors: 30).
    max_passage_length : `int`, optional (default = `None`)
        Passages are cut after this many tokens, and questions with an answer that ends beyond are
        left out. For the training reader only (the authors: 400). Give `validation_dataset_reader`
        neither limit: the score is over all questions and whole passages. Text that comes through
        `text_to_instance` is never cut.
    count_question_words : `bool`, optional (default = `False`)
        Whether the vocabulary has the words of questions, without those of passages, in a namespace
        `question_tokens` too. With its `max_vocab_size` these are the most frequent ones.
    perturbations : `Dict[str, float]`, optional (default = `None`)
        The share of the paragraphs that are made harder, by kind of `Perturbation`: `{"distractor": 0.2}`. For
        the training reader only.
    cache_dir : `str`, optional (default = `None`)
        Has no effect any more; configs and archives of earlier versions may have it.
    """

    def __init__(
        self,
        tokenizer: Optional[Tokenizer] = None,
        question_tokenizer: Optional[Tokenizer] = None,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        max_question_length: Optional[int] = None,
        max_passage_length: Optional[int] = None,
        count_question_words: bool = False,
        perturbations: Optional[Dict[str, float]] = None,
        cache_dir: Optional[str] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        self._tokenizer = tokenizer or PtbTokenizer()
        self._question_tokenizer = question_tokenizer or self._tokenizer
        self._token_indexers = token_indexers or {"tokens": WordIdIndexer(lowercase_tokens=True)}
        self._max_question_length = max_question_length
        self._max_passage_length = max_passage_length
        self._question_field = QuestionTextField if count_question_words else CompactTextField
        self._perturbations = perturbations or {}
        check_shares(self._perturbations)
        if cache_dir is not None:
            logger.warning("cache_dir has no effect any more: reading takes seconds without it")

    @overrides
    def _read(self, file_path: str) -> Iterable[Instance]:
        paragraphs = read_squad_json(file_path)
        if self._perturbations:
            paragraphs = perturb_some(paragraphs, self._perturbations)
        # Whole paragraphs are dealt out to workers, so that no two workers tokenise the same one.
        instances = (
            instance
            for item in self._tokenize(self.shard_iterable(paragraphs))
            for instance in make_instances(
                item, self._max_question_length, self._max_passage_length, self._question_field
            )
        )
        num_left_out = 0
        while block := _take(instances, _INSTANCES_AT_ONCE):
            for instance in block:
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

    def _tokenize(self, paragraphs: Iterable[Paragraph]) -> Iterator[TokenizedParagraph]:
        for block in lazy_groups_of(paragraphs, _PARAGRAPHS_AT_ONCE):
            passage_tokens = iter(self._tokenizer.batch_tokenize([p.passage for p in block]))
            question_tokens = iter(
                self._question_tokenizer.batch_tokenize(
                    [q.text for p in block for q in p.questions]
                )
            )
            for paragraph in block:
                yield TokenizedParagraph(
                    paragraph,
                    with_offsets(next(passage_tokens), paragraph.passage),
                    list(islice(question_tokens, len(paragraph.questions))),
                )

    @overrides(check_signature=False)
    def text_to_instance(  # type: ignore[override]
        self,
        question: str,
        passage: str,
        id: Optional[str] = None,
        answers: Sequence[GoldAnswer] = (),
        is_impossible: bool = False,
    ) -> Instance:
        """
        The `id` is given back with the prediction. The gold `answers`, and whether the passage is known not
        to answer the question, are for a loss and a score.
        """
        item = Question("" if id is None else id, question, list(answers), is_impossible)
        (tokenized,) = self._tokenize([Paragraph("", passage, [item])])
        texts = {"question": tokenized.question_tokens[0], "passage": tokenized.passage_tokens}
        for name, tokens in texts.items():
            if not tokens:
                raise DataError(f"the {name} is empty")
        offsets = character_offsets(tokenized.passage_tokens)
        for answer in answers:
            if find_token_span(offsets, *answer.characters) is None:
                raise DataError(f"the answer {answer.text!r} is not inside the passage")
        (instance,) = make_instances(tokenized)
        assert instance is not None  # there is no limit
        return instance

    def paragraphs_to_instances(self, paragraphs: Iterable[Paragraph]) -> List[Instance]:
        """
        Many questions at once, as `text_to_instance` makes them but in a fraction of the time, and
        with one passage field for all questions on a paragraph.
        """
        return [
            instance
            for item in self._tokenize(paragraphs)
            for instance in make_instances(item)
            if instance is not None
        ]

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        instance.fields["question"].token_indexers = self._token_indexers  # type: ignore
        instance.fields["passage"].token_indexers = self._token_indexers  # type: ignore


def _take(instances: Iterator[Optional[Instance]], count: int) -> List[Optional[Instance]]:
    """
    The next instances, without garbage collection: of very many objects that stay, Python would look
    through all again and again, which takes longer than making them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        return list(islice(instances, count))
    finally:
        if was_enabled:
            gc.enable()
