import warnings
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader, Instance
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import read_json
from bidaf_plugin.modules.seq2seq_encoders import UnpackedLstmEncoder


class QuestionPredictor(Predictor):
    """
    What predictors have in common that answer questions about passages: records that are checked,
    batches of any size, and gradients by position for `allennlp.interpret`.

    A JSON object becomes an answer in three steps. `check` says what is wrong with it, and nothing
    looks at this again; `read_questions` cuts the texts into tokens; `predict_batches` runs the model.
    `make_questions` does the first two.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    frozen : `bool`, optional (default = `True`)
    skip_bad : `bool`, optional (default = `False`)
        For `allennlp predict`: a line that cannot be used gives a record with the key `error` instead
        of stopping.
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        frozen: bool = True,
        skip_bad: bool = False,
    ) -> None:
        super().__init__(model, dataset_reader, frozen)
        self.skip_bad = skip_bad
        if frozen:
            for module in model.modules():
                if isinstance(module, UnpackedLstmEncoder):
                    module.prepare()

    def check(self, record: Any) -> Any:
        """The question of a JSON object, or a `DataError` that says what is wrong with it."""
        raise NotImplementedError

    def read_questions(self, checked: Sequence[Any]) -> List[Any]:
        """What `predict_batches` takes, from what `check` returns."""
        raise NotImplementedError

    def make_questions(self, records: Sequence[JsonDict]) -> List[Any]:
        """What `predict_batches` takes, from JSON objects."""
        return self.read_questions([self.check(record) for record in records])

    def wrap_instances(self, instances: Sequence[Instance]) -> List[Any]:
        """What `predict_batches` takes, from instances of the dataset reader."""
        return list(instances)

    def predict_batches(
        self, questions: Sequence[Any], batch_size: Optional[int] = None
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        Answers questions in batches.

        # Parameters

        questions : `Sequence[Any]`
        batch_size : `int`, optional (default = `None`)
            What goes into a batch at most. By default as much as is answered fastest.

        # Returns

        `Iterator[Tuple[List[int], List[JsonDict]]]`
            For each batch, the indices of the questions that it completes, and the answers to them.
        """
        raise NotImplementedError

    def predict_questions(
        self,
        questions: Sequence[Any],
        batch_size: Optional[int] = None,
        on_progress: Optional[Callable[[int], object]] = None,
    ) -> List[JsonDict]:
        """The answers in the order of the questions; `on_progress` is told how many each batch gave."""
        answers: List[JsonDict] = [{}] * len(questions)
        for indices, batch_answers in self.predict_batches(questions, batch_size):
            for index, answer in zip(indices, batch_answers, strict=True):
                answers[index] = answer
            if on_progress is not None:
                on_progress(len(indices))
        return answers

    @overrides
    def load_line(self, line: str) -> JsonDict:
        try:
            return read_json(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"not JSON ({error})") from error

    @overrides
    def predict_batch_json(self, inputs: List[JsonDict]) -> List[JsonDict]:
        return self.predict_questions(self.make_questions(inputs))

    @overrides
    def predict_json(self, inputs: JsonDict) -> JsonDict:
        return self.predict_batch_json([inputs])[0]

    @overrides
    def predict_batch_instance(self, instances: List[Instance]) -> List[JsonDict]:
        """Answers any number of questions, in batches that the machine can hold."""
        return self.predict_questions(self.wrap_instances(instances))

    @overrides
    def predict_instance(self, instance: Instance) -> JsonDict:
        return self.predict_batch_instance([instance])[0]

    @overrides
    def get_gradients(self, instances: List[Instance]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
        """
        The gradients of the loss of one instance by the word vectors, and the model's output.
        `grad_input_1` are those of the passage, `grad_input_2` those of the question, because gradients
        come in the reverse order.
        """
        with self._model.words_apart(), warnings.catch_warnings():
            # The kind of hook that AllenNLP registers; what it may miss is not used.
            warnings.filterwarnings("ignore", message="Using (a )?non-full backward hook")
            return super().get_gradients(instances)
