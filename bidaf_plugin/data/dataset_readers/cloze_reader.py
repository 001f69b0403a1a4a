import random
import zlib
from typing import Any, Dict, Iterable, List, Optional

import numpy
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader, Field, Instance, TokenIndexer
from allennlp.data.fields import ArrayField, MetadataField, TextField
from overrides import overrides

from bidaf_plugin.data.dataset_readers.cloze_files import Shard, iterate_questions
from bidaf_plugin.data.dataset_readers.cloze_instance import (
    ClozeInstance,
    WordTokens,
    find_windows,
    number_entities,
)
from bidaf_plugin.data.dataset_readers.cloze_question import (
    BadQuestions,
    ClozeQuestion,
    QuestionError,
    make_question,
    parse_question,
)
from bidaf_plugin.data.fields import WindowedTextField
from bidaf_plugin.data.token_indexers import ClozeWordsIndexer
from bidaf_plugin.nn.entities import NOT_IN_ARTICLE, UNKNOWN_ANSWER

_MAX_WORKERS = 256


@DatasetReader.register("bidaf_cloze")
class BidafClozeReader(DatasetReader):
    """
    Reads the cloze questions of [Hermann et al. (2015)](https://arxiv.org/abs/1506.03340), CNN and
    Daily Mail: a folder of `.question` files, a tar archive (`archive.tar.gz!folder` for a folder of
    it), or a file packed by `allennlp bidaf pack-cloze`. Questions are read one by one and not kept,
    and several readers (distributed training, workers of the data loader) read a share each.

    As in [Bidirectional Attention Flow](https://arxiv.org/abs/1611.01603), "we split each article
    into short sentences where each sentence is a 19-word window around each entity (hence the same
    word might appear in multiple sentences)": each mention has a window of the 9 words before and the
    9 words after it, as far as the article goes. Every mention in a window counts, not only the middle.

    An `Instance` has the fields

    - `question` : `TextField`.
    - `passage` : `WindowedTextField`, whose tensors have the shape `(num_windows, window_length)`.
    - `entity_ids` : `ArrayField`, shape `(num_windows, window_length)`: which candidate each word is,
      or -1. The candidates of an article are its entities, numbered from 0 by their first mention.
    - `answer_entity` : `ArrayField`, a number: which candidate is the answer; -1 if the answer is
      unknown, -2 if it is known and not in the article.
    - `metadata` : `id`, `question` and `passage` (texts; `split()` gives the words), `candidates` (the
      file's names `@entityN`), `candidate_names` (real names, or `None`), `answer` (`@entityN`, or
      `None`) and `window_starts` (the first word of each window).

    The model knows an entity by one of the names of `ClozeWordsIndexer`, drawn anew whenever a batch
    is made (see `ClozeInstance`); the characters are the same for all. How the file names them makes no
    difference.

    Registered as a `DatasetReader` with name "bidaf_cloze".

    # Parameters

    window : `int`, optional (default = `19`)
        Words of a window, an odd number; `None` for a single window with the whole article.
    token_indexers : `Dict[str, TokenIndexer]`, optional
        Default: `{"tokens": ClozeWordsIndexer()}`.
    keep_unanswerable : `bool`, optional (default = `False`)
        For evaluation: a question whose answer is not in the article stays, and counts as answered
        wrongly, so that the score is over all questions. For training it is an error (`skip_bad`).
    needs_answer : `bool`, optional (default = `True`)
        False, for prediction: files need not have an answer. Those without have no score.
    skip_bad : `bool`, optional (default = `False`)
        Skip questions that cannot be used instead of stopping at the first. How many of which kind
        is logged, and in `skipped` after a `read`. An archive or a packed file that is truncated or
        damaged always stops reading.
    seed : `int`, optional (default = `None`)
        Draw the names of the entities of each question from this number, the same at each read and
        by whatever worker, so that the same weights always have the same score: for evaluation.
    """

    def __init__(
        self,
        window: Optional[int] = 19,
        token_indexers: Optional[Dict[str, TokenIndexer]] = None,
        keep_unanswerable: bool = False,
        needs_answer: bool = True,
        skip_bad: bool = False,
        seed: Optional[int] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            manual_distributed_sharding=True, manual_multiprocess_sharding=True, **kwargs
        )
        if window is not None and (window < 1 or window % 2 == 0):
            raise ConfigurationError(
                f"window must be an odd number of words, or null for the whole article; not {window}"
            )
        self._window = window
        self._token_indexers = token_indexers or {"tokens": ClozeWordsIndexer()}
        self._keep_unanswerable = keep_unanswerable
        self._needs_answer = needs_answer
        self._skip_bad = skip_bad
        self._seed = seed
        self.skipped: Dict[str, int] = {}
        self._tokens = WordTokens()
        # How often each worker of the data loader has read: workers are forked and soon forgotten.
        # Shape: (max_workers,)
        self._num_reads = torch.zeros(_MAX_WORKERS, dtype=torch.long).share_memory_()

    @overrides
    def _read(self, file_path: str) -> Iterable[Instance]:
        self._renew_random_numbers()
        bad = BadQuestions(self._skip_bad)
        self.skipped = bad.counts
        num_read = 0
        shard = self._shard()
        is_limited = self.max_instances is not None
        for raw in iterate_questions(str(file_path), bad, shard, is_limited):
            try:
                question = parse_question(raw.content, raw.place, raw.id, self._needs_answer)
                instance = self._make_instance(question, self._seed)
            except QuestionError as error:
                bad.handle(error)
            else:
                num_read += 1
                yield instance
        bad.report(str(file_path), num_read, is_share=shard.num_shards > 1)

    def _shard(self) -> Shard:
        shard = Shard()
        distributed, worker = self.get_distributed_info(), self.get_worker_info()
        if distributed is not None:
            shard = Shard(distributed.global_rank, distributed.world_size)
        if worker is not None:
            shard = Shard(
                shard.number + shard.num_shards * worker.id, shard.num_shards * worker.num_workers
            )
        return shard

    def _renew_random_numbers(self) -> None:
        """
        A worker of the data loader is forked in each epoch with the random numbers of the main process,
        which draws none meanwhile: without this it would draw the same in every epoch.
        """
        if (worker := self.get_worker_info()) is not None:
            slot = worker.id % _MAX_WORKERS
            random.seed(f"{random.getrandbits(64)} {worker.id} {self._num_reads[slot]}")
            self._num_reads[slot] += 1

    @overrides(check_signature=False)
    def text_to_instance(  # type: ignore[override]
        self,
        question: str,
        passage: str,
        answer: Optional[str] = None,
        id: Optional[str] = None,
        names: Optional[Dict[str, str]] = None,
    ) -> Instance:
        """
        A question with one `@placeholder` on a passage with entities like `@entity3`. One of them is the
        `answer`, for a loss and a score. The `id` and the real `names` of the entities are given back with
        the prediction.
        """
        return self.question_to_instance(make_question(question, passage, answer, id, names))

    def question_to_instance(self, question: ClozeQuestion) -> Instance:
        """For prediction: always with a seed, so that the same text gets the same prediction."""
        return self._make_instance(question, self._seed or 0)

    def _make_instance(self, question: ClozeQuestion, seed: Optional[int]) -> ClozeInstance:
        question_words, passage_words = question.question.split(), question.article.split()
        # Candidates come first; a question may name entities that are not in the article.
        number_of: Dict[str, int] = {}
        # Shape: (num_words,)
        passage_entities = number_entities(passage_words, number_of)
        candidates = list(number_of)
        # Shape: (question_length,)
        question_entities = number_entities(question_words, number_of)
        if seed is not None:
            # It does not depend on how the file names its entities.
            text = " ".join([str(seed), *question_words, *passage_words])
            seed = zlib.crc32(text.encode("utf-8", "replace"))
        # Shape: (num_windows, 2)
        windows = find_windows(
            numpy.flatnonzero(passage_entities >= 0), len(passage_words), self._window
        )
        passage = WindowedTextField(passage_words, self._tokens, windows)
        # One more for padding, which has position -1.
        # Shape: (num_windows, window_length)
        entity_ids = numpy.append(passage_entities, -1)[passage.word_positions()]
        answer_entity = numpy.array(self._find_answer(question, candidates))
        fields: Dict[str, Field] = {
            "question": TextField([self._tokens[word] for word in question_words]),
            "passage": passage,
            "entity_ids": ArrayField(entity_ids, padding_value=-1, dtype=numpy.int64),
            "answer_entity": ArrayField(answer_entity, dtype=numpy.int64),
            "metadata": MetadataField(
                {
                    "id": question.id,
                    "question": question.question,
                    "passage": question.article,
                    "candidates": candidates,
                    "candidate_names": [question.names.get(entity) for entity in candidates],
                    "answer": question.answer,
                    "window_starts": windows[:, 0].tolist(),
                }
            ),
        }
        return ClozeInstance(fields, question_entities, len(number_of), seed)

    def _find_answer(self, question: ClozeQuestion, candidates: List[str]) -> int:
        if question.answer is None:
            return UNKNOWN_ANSWER
        if question.answer in candidates:
            return candidates.index(question.answer)
        if self._keep_unanswerable:
            return NOT_IN_ARTICLE
        if not candidates:
            raise QuestionError(f"{question.place}: the article has no entity", "no entities")
        raise QuestionError(
            f"{question.place}: the answer {question.answer!r} is not in the article",
            "answer not in the article",
        )

    @overrides
    def apply_token_indexers(self, instance: Instance) -> None:
        instance.fields["question"].token_indexers = self._token_indexers  # type: ignore
        instance.fields["passage"].token_indexers = self._token_indexers  # type: ignore
