from itertools import chain
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph, Question
from bidaf_plugin.data.fields import AnswerSpansField, CompactTextField
from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE
from bidaf_plugin.data.samplers import BidafBucketSampler
from bidaf_plugin.predictors.answers import Answers
from bidaf_plugin.predictors.pieces import PieceCutter, QuestionOnPassages
from bidaf_plugin.predictors.question_answerer import QuestionAnswerer
from bidaf_plugin.predictors.question_predictor import QuestionPredictor
from bidaf_plugin.predictors.records import (
    check_record,
    id_of,
    only_passage,
    passages_of,
    to_record,
)
from bidaf_plugin.predictors.word_vectors import learn_words

# Questions and padded passage tokens per batch, at most. What does not fit into the caches of a CPU is
# slower, while a GPU is idle on small batches.
_CPU_BATCH = (256, 16_000)
_GPU_BATCH = (512, 64_000)
_PIECE_TOKENS = 400


@Predictor.register("bidaf_span")
class SpanPredictor(QuestionPredictor):
    """
    Answers questions about passages. Input: JSON objects (JSON lines in a file) with

    - `question` : the question,
    - `passage` : the text that holds the answer (`context` will do, too),
    - `passages` : in place of it, a list of texts of which one may hold the answer,
    - `id` : optional, given back with the answer (`qid` will do, too),
    - `n_best` : optional, for this question in place of the argument of this name.

    Output: `id`, `best_span_str` (cut from the passage), `best_span` (first and last token,
    inclusive), `best_span_characters` (first character and one past the last), `confidence`;
    `passage_index` if there were `passages`; with `n_best` a list of that name; if the model can say
    that there is no answer, `no_answer_probability`, and where it does, an empty `best_span_str` and
    null for the rest of what is said of a span.

    A long passage is read in pieces that overlap. The answers from all pieces of all passages of a
    question compare: see `Ranking`.

    Registered as a `Predictor` with name "bidaf_span".

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
    max_answer_length : `int`, optional (default = `None`)
        The largest number of tokens of an answer, in place of what the model was trained with. Give
        it, like the others below, as `--predictor-args '{"max_answer_length": 17}'`.
    pretrained_file : `str`, optional (default = `None`)
        A file of word vectors, normally the one used in training: all of its words become known.
    skip_bad : `bool`, optional (default = `False`)
        For `allennlp predict`: a line that cannot be used gives a record with the key `error` instead
        of stopping.
    n_best : `int`, optional (default = `None`)
        Give so many answers, the most probable first, as `n_best`: a list of objects with `text`,
        `probability`, `characters`, `tokens` and `passage_index`. The probability of an answer is the
        sum over all places in which it stands, of which the most probable is named. (`best_span_str`
        is the most probable single span, as in the paper; the two can differ.)
    no_answer_threshold : `float`, optional (default = `None`)
        There is no answer if `no_answer_probability` is larger than this. By default, if it is larger
        than the probability of the best span.
    max_passage_tokens : `int`, optional (default = `1000`)
        Passages with more tokens are read in pieces. (Those of SQuAD have fewer.)
    piece_tokens : `int`, optional (default = `None`)
        The number of tokens of a piece: by default 400, which are the longest passages of training,
        or `max_passage_tokens` if these are fewer.
    stride : `int`, optional (default = `None`)
        How many tokens after the beginning of a piece the next one begins. By default three quarters
        of `piece_tokens`.
    passage_weight : `float`, optional (default = `50.0`)
        Where there are several pieces or passages, how much it counts that one has the words of the
        question, see `PieceCutter`. The logits of a model that was trained on single passages say
        little about which passage it is.
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        max_answer_length: Optional[int] = None,
        pretrained_file: Optional[str] = None,
        skip_bad: bool = False,
        n_best: Optional[int] = None,
        no_answer_threshold: Optional[float] = None,
        max_passage_tokens: int = 1000,
        piece_tokens: Optional[int] = None,
        stride: Optional[int] = None,
        passage_weight: float = 50.0,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, skip_bad)
        _check_numbers(
            n_best=n_best,
            max_passage_tokens=max_passage_tokens,
            piece_tokens=piece_tokens,
            stride=stride,
        )
        piece_tokens = min(piece_tokens or _PIECE_TOKENS, max_passage_tokens)
        stride = stride or max(piece_tokens * 3 // 4, 1)
        if stride > piece_tokens:
            raise ConfigurationError(
                f"stride is {stride} and piece_tokens {piece_tokens}: what lies between two pieces would "
                "not be read"
            )
        self._n_best = n_best
        self._piece_settings = (max_passage_tokens, stride, passage_weight, piece_tokens)
        if max_answer_length is not None:
            model._output_layer.decoder.set_max_answer_length(max_answer_length)
        if no_answer_threshold is not None:
            model._output_layer.decoder.set_no_answer_threshold(no_answer_threshold)
        if pretrained_file is not None:
            learn_words(model, pretrained_file)

    def predict(
        self, question: str, passage: Union[str, Sequence[str]], id: Optional[str] = None
    ) -> JsonDict:
        """Answers one question, about one passage or several."""
        return self.predict_json(to_record(question, passage, id))

    def ask(self, question: str, passage: Union[str, Sequence[str]], n_best: int = 1) -> Answers:
        """
        Answers one question, about one passage or several.

        # Returns

        `Answers`
            The `n_best` most probable answers.
        """
        _check_numbers(n_best=n_best)
        questions = self.make_questions([to_record(question, passage)])
        (record,) = self._predict_all(questions, n_best=n_best)
        return Answers.from_json(record)

    @overrides
    def check(self, record: Any) -> None:
        check_record(record)

    @overrides
    def wrap_instances(self, instances: Sequence[Instance]) -> List[QuestionOnPassages]:
        return [QuestionOnPassages([instance]) for instance in instances]

    @overrides
    def make_questions(self, records: Sequence[JsonDict]) -> List[QuestionOnPassages]:
        for record in records:
            check_record(record)
        single = [
            {"question": record["question"], "passage": passage, "id": id_of(record)}
            for record in records
            for passage in passages_of(record)
        ]
        instances = iter(self._batch_json_to_instances(single))
        return [
            QuestionOnPassages(
                [next(instances) for _ in passages_of(record)],
                record.get("passages") is not None,
                record.get("n_best"),
            )
            for record in records
        ]

    @overrides(check_signature=False)
    def predict_batches(
        self,
        questions: Sequence[QuestionOnPassages],
        batch_size: Optional[int] = None,
        n_best: Optional[int] = None,
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        Answers questions in batches of passages of similar length.

        # Parameters

        questions : `Sequence[QuestionOnPassages]`
        batch_size : `int`, optional (default = `None`)
            Passages, or pieces of them, per batch. By default as many as are answered fastest.
        n_best : `int`, optional (default = `None`)
            In place of what the predictor was made with, where a question does not say it itself.

        # Returns

        `Iterator[Tuple[List[int], List[JsonDict]]]`
            For each batch, where the questions that it completes stand in `questions`, and the
            answers to them.
        """
        return QuestionAnswerer(
            self._model,
            self._dataset_reader,
            PieceCutter(*self.piece_settings()),
            self.make_sampler(batch_size),
            self._n_best if n_best is None else n_best,
        ).answer(questions)

    def piece_settings(self) -> Tuple[int, int, float, int]:
        """What a `PieceCutter` takes."""
        max_tokens, stride, passage_weight, piece_tokens = self._piece_settings
        # The logits that it is weighed against are divided by the temperature, too.
        return (
            max_tokens,
            stride,
            passage_weight / self._model._output_layer.temperature,
            piece_tokens,
        )

    def make_sampler(self, batch_size: Optional[int] = None) -> BidafBucketSampler:
        """Makes batches of passages of similar length, by default as large as is fastest."""
        max_tokens = None
        if batch_size is None:
            batch_size, max_tokens = _CPU_BATCH if self.cuda_device < 0 else _GPU_BATCH
        return BidafBucketSampler(batch_size, max_tokens, group_passages=True, shuffle=False)

    @overrides
    def _batch_json_to_instances(self, json_dicts: List[JsonDict]) -> List[Instance]:
        if not isinstance(self._dataset_reader, BidafSquadReader):
            return super()._batch_json_to_instances(json_dicts)
        # A passage that several questions are about is read once.
        places_by_passage: Dict[str, List[int]] = {}
        for place, record in enumerate(json_dicts):
            places_by_passage.setdefault(only_passage(record), []).append(place)
        instances = self._dataset_reader.paragraphs_to_instances(
            Paragraph("", passage, [_question(json_dicts[place]) for place in places])
            for passage, places in places_by_passage.items()
        )
        all_places = chain.from_iterable(places_by_passage.values())
        instance_by_place = dict(zip(all_places, instances, strict=True))
        return [instance_by_place[place] for place in range(len(json_dicts))]

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        return self._dataset_reader.text_to_instance(
            question=json_dict["question"],
            passage=only_passage(json_dict),
            id=id_of(json_dict),
        )

    @overrides
    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: Dict[str, Any]
    ) -> List[Instance]:
        """
        The instance with the predicted span as its answer, for AllenNLP's interpretation. Its texts can
        be changed, as AllenNLP's attackers do, and have no indexers yet, which would be copied with them.
        """
        span = outputs["best_span"]
        metadata = instance["metadata"].metadata.changed(
            answers=[outputs["best_span_str"]] if span else []
        )
        labeled = Instance(
            {
                name: CompactTextField(list(instance[name].tokens))
                for name in ("question", "passage")
            }
        )
        labeled.add_field("metadata", MetadataField(metadata))
        labeled.add_field("answer_spans", AnswerSpansField([tuple(span) if span else IMPOSSIBLE]))
        return [labeled]


def _question(record: JsonDict) -> Question:
    id = id_of(record)
    return Question("" if id is None else id, record["question"], [])


def _check_numbers(**numbers: Optional[int]) -> None:
    for name, number in numbers.items():
        if number is not None and (not isinstance(number, int) or number < 1):
            raise ConfigurationError(f"{name} must be a whole number, 1 or more, not {number!r}")
