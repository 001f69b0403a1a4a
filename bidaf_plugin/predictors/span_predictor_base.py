from itertools import chain
from typing import Any, Dict, List, Optional, Sequence, Union

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import Batch, DatasetReader, Instance
from allennlp.models import Model
from allennlp.modules.token_embedders.embedding import EmbeddingsTextFile
from allennlp.nn import util
from overrides import overrides

from bidaf_plugin.data.dataset_readers.squad_json import Paragraph, Question
from bidaf_plugin.data.samplers import BidafBucketSampler
from bidaf_plugin.modules.token_embedders import FixedAndTrainedEmbedder
from bidaf_plugin.predictors.pieces import QuestionOnPassages
from bidaf_plugin.predictors.question_predictor import QuestionPredictor
from bidaf_plugin.predictors.records import check_record, check_single_passage
from bidaf_plugin.runtime.records import Answers, Record, to_record

# Questions and padded passage tokens per batch, at most. What does not fit into the caches of a CPU is
# slower, while a GPU is idle on small batches.
_CPU_BATCH = (256, 16_000)
_GPU_BATCH = (512, 64_000)


class SpanPredictorBase(QuestionPredictor):
    """
    What predictors have in common that answer with spans of a passage, whether of one model or of
    several: `SpanPredictor` and `EnsemblePredictor`.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
        A `BidafSquadReader`.
    frozen : `bool`, optional (default = `True`)
    skip_bad : `bool`, optional (default = `False`)
    n_best : `int`, optional (default = `None`)
        How many answers to list, if a question does not say it itself; None for no list.
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        skip_bad: bool = False,
        n_best: Optional[int] = None,
    ) -> None:
        super().__init__(model, dataset_reader, frozen, skip_bad)
        check_whole_numbers(n_best=n_best)
        self._n_best = n_best

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
        record = self.predict_json({**to_record(question, passage), "n_best": n_best})
        return Answers.from_json(record)

    @overrides
    def check(self, record: Any) -> Record:
        return check_record(record)

    @overrides(check_signature=False)
    def read_questions(self, checked: Sequence[Record]) -> List[QuestionOnPassages]:
        # A passage that several questions are about is read once.
        asked = [(record, passage) for record in checked for passage in record.passages]
        indices_by_passage: Dict[str, List[int]] = {}
        for index, (_, passage) in enumerate(asked):
            indices_by_passage.setdefault(passage, []).append(index)
        instances = self._dataset_reader.paragraphs_to_instances(
            Paragraph("", passage, [_to_squad_question(asked[index][0]) for index in indices])
            for passage, indices in indices_by_passage.items()
        )
        indices = chain.from_iterable(indices_by_passage.values())
        instance_by_index = dict(zip(indices, instances, strict=True))
        in_order = (instance_by_index[index] for index in range(len(asked)))
        return [
            QuestionOnPassages(
                [next(in_order) for _ in record.passages], record.is_list, record.n_best
            )
            for record in checked
        ]

    @overrides
    def wrap_instances(self, instances: Sequence[Instance]) -> List[QuestionOnPassages]:
        return [QuestionOnPassages([instance]) for instance in instances]

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        """For AllenNLP's interpretation."""
        (question,) = self.read_questions([check_single_passage(json_dict)])
        return question.instances[0]

    def make_sampler(self, batch_size: Optional[int] = None) -> BidafBucketSampler:
        """Makes batches of passages of similar length, by default as large as is fastest."""
        max_tokens = None
        if batch_size is None:
            batch_size, max_tokens = _CPU_BATCH if self.cuda_device < 0 else _GPU_BATCH
        return BidafBucketSampler(batch_size, max_tokens, group_passages=True, shuffle=False)

    def run_model(self, instances: Sequence[Instance]) -> Dict[str, Any]:
        """
        What the model's `forward` returns, without the gold answers, for which there would be a loss
        and a score.
        """
        for instance in instances:
            self._dataset_reader.apply_token_indexers(instance)
        batch = Batch(instances)
        batch.index_instances(self._model.vocab)
        device = self._model._get_prediction_device()
        tensors = util.move_to_device(batch.as_tensor_dict(), device)
        with torch.no_grad():
            return self._model(
                **{name: tensors[name] for name in ("question", "passage", "metadata")}
            )

    def _with_number_of_answers(
        self, questions: Sequence[QuestionOnPassages]
    ) -> List[QuestionOnPassages]:
        """Questions that all say how many answers to list."""
        return [
            question._replace(n_best=self._n_best) if question.n_best is None else question
            for question in questions
        ]


def _to_squad_question(record: Record) -> Question:
    return Question("" if record.id is None else record.id, record.question, [])


def check_whole_numbers(**numbers: Optional[int]) -> None:
    for name, number in numbers.items():
        if number is not None and (not isinstance(number, int) or number < 1):
            raise ConfigurationError(f"{name} must be a whole number, 1 or more, not {number!r}")


def learn_words(model: Model, pretrained_file: str) -> None:
    """Extends the vocabulary and the word embedder by the words of a file of word vectors."""
    with EmbeddingsTextFile(pretrained_file) as file:
        words = [line.partition(" ")[0] for line in file]
    for module in model.modules():
        if isinstance(module, FixedAndTrainedEmbedder):
            model.vocab.add_tokens_to_namespace(words, module.vocab_namespace)
            module.extend_vocab(model.vocab, extension_pretrained_file=pretrained_file)
