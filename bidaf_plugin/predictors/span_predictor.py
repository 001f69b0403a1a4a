import json
from itertools import chain
from typing import Any, Dict, Iterator, List, Optional, Tuple

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import BadLine, DataError, check_is_text
from bidaf_plugin.dataset_readers import BidafSquadReader
from bidaf_plugin.dataset_readers.squad_json import Paragraph, Question
from bidaf_plugin.fields import AnswerSpansField
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.samplers import BidafBucketSampler

# Questions and padded passage tokens per batch, at most. What does not fit into the caches of a CPU is
# slower, while a GPU is idle on small batches.
_CPU_BATCH = (128, 8_000)
_GPU_BATCH = (512, 64_000)


@Predictor.register("bidaf_span")
class SpanPredictor(Predictor):
    """
    Answers questions about passages. Input: JSON objects (JSON lines in a file) with

    - `question` : the question,
    - `passage` : the text that holds the answer (`context` will do, too),
    - `id` : optional, given back with the answer (`qid` will do, too).

    Output: `id`, `best_span_str` (cut from the passage), `best_span` (first and last token,
    inclusive), `best_span_characters` (first character and one past the last), `confidence`.

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
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        max_answer_length: Optional[int] = None,
        pretrained_file: Optional[str] = None,
        skip_bad: bool = False,
    ) -> None:
        super().__init__(model, dataset_reader, frozen)
        self.skip_bad = skip_bad
        if max_answer_length is not None:
            model._output_layer.set_max_answer_length(max_answer_length)
        if pretrained_file is not None:
            _learn_words(model, pretrained_file)

    def predict(self, question: str, passage: str, id: Optional[str] = None) -> JsonDict:
        """Answers one question."""
        return self.predict_json({"question": question, "passage": passage, "id": id})

    @overrides
    def load_line(self, line: str) -> JsonDict:
        try:
            record = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise DataError(f"not JSON ({error})") from error
        _check_record(record)
        return record

    @overrides
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        # A line that could not be read has become a record of its error, which passes through.
        good = [item for item in inputs if not isinstance(item, BadLine)]
        answers = iter(super().predict_batch_json(good))
        return [item if isinstance(item, BadLine) else next(answers) for item in inputs]

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return self.predict_batch_json([inputs])[0]

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Answers any number of questions, in batches that the machine can hold."""
        answers: List[JsonDict] = [{}] * len(instances)
        for places, batch_answers in self.predict_batches(instances):
            for place, answer in zip(places, batch_answers, strict=True):
                answers[place] = answer
        return answers

    def predict_batches(
        self, instances: List[Instance], batch_size: Optional[int] = None
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        Answers questions in batches of passages of similar length.

        # Parameters

        instances : `List[Instance]`
        batch_size : `int`, optional (default = `None`)
            Questions per batch. By default as many as are answered fastest.

        # Returns

        `Iterator[Tuple[List[int], List[JsonDict]]]`
            For each batch, where its questions stand in `instances`, and the answers to them.
        """
        max_tokens = None
        if batch_size is None:
            batch_size, max_tokens = _CPU_BATCH if self.cuda_device < 0 else _GPU_BATCH
        sampler = BidafBucketSampler(batch_size, max_tokens, group_passages=True, shuffle=False)
        for places in sampler.get_batch_indices(instances):
            answers = super().predict_batch_instance([instances[place] for place in places])
            for answer in answers:
                # AllenNLP has it in batches of one labelled question only.
                answer.pop("loss", None)
            yield places, answers

    @overrides
    def _batch_json_to_instances(self, json_dicts: List[JsonDict]) -> List[Instance]:
        if not isinstance(self._dataset_reader, BidafSquadReader):
            return super()._batch_json_to_instances(json_dicts)
        # A passage that several questions are about is read once.
        places_by_passage: Dict[str, List[int]] = {}
        for place, record in enumerate(json_dicts):
            _check_record(record)
            places_by_passage.setdefault(_passage(record), []).append(place)
        instances = self._dataset_reader.paragraphs_to_instances(
            Paragraph("", passage, [_question(json_dicts[place]) for place in places])
            for passage, places in places_by_passage.items()
        )
        all_places = chain.from_iterable(places_by_passage.values())
        instance_by_place = dict(zip(all_places, instances, strict=True))
        return [instance_by_place[place] for place in range(len(json_dicts))]

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        _check_record(json_dict)
        return self._dataset_reader.text_to_instance(
            question=json_dict["question"],
            passage=_passage(json_dict),
            id=_id(json_dict),
        )

    @overrides
    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: Dict[str, Any]
    ) -> List[Instance]:
        """The instance with the predicted span as its answer, for AllenNLP's interpretation."""
        labeled = instance.duplicate()
        labeled.fields["answer_spans"] = AnswerSpansField([tuple(outputs["best_span"])])
        metadata = instance["metadata"].metadata.with_answers([outputs["best_span_str"]])
        labeled.fields["metadata"] = MetadataField(metadata)
        return [labeled]


def _passage(record: JsonDict) -> Any:
    passage = record.get("passage")
    return record.get("context") if passage is None else passage


def _question(record: JsonDict) -> Question:
    id = _id(record)
    return Question("" if id is None else id, record["question"], [])


def _id(record: JsonDict) -> Any:
    return record.get("id", record.get("qid"))


def _check_record(record: Any) -> None:
    if not isinstance(record, dict):
        raise DataError(
            f"expected a JSON object with 'question' and 'passage', found {record!r:.60}"
        )
    for name, value in (("question", record.get("question")), ("passage", _passage(record))):
        if value is None:
            raise DataError(f"{name!r} is missing or null; found {sorted(record)!r:.200}")
        if not isinstance(value, str):
            raise DataError(f"{name!r} must be a string, found {value!r:.60}")
        if not value.strip():
            raise DataError(f"{name!r} is empty")
        check_is_text(value, repr(name))


def _learn_words(model: Model, pretrained_file: str) -> None:
    """Extends the vocabulary and the word embedder by the words of a file of word vectors."""
    with EmbeddingsTextFile(pretrained_file) as file:
        words = [line.partition(" ")[0] for line in file]
    for module in model.modules():
        if isinstance(module, FixedAndTrainedEmbedder):
            model.vocab.add_tokens_to_namespace(words, module.vocab_namespace)
            module.extend_vocab(model.vocab, extension_pretrained_file=pretrained_file)
