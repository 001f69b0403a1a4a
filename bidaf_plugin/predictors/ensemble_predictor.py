from typing import Any, Iterator, List, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors.pieces import QuestionOnPassages
from bidaf_plugin.predictors.span_predictor_base import SpanPredictorBase, learn_words
from bidaf_plugin.runtime.records import Record


@Predictor.register("bidaf_ensemble")
class EnsemblePredictor(SpanPredictorBase):
    """
    What `SpanPredictor` is for one model, for several: input and output are the same, but for lists of
    `passages`. A long passage is read as a whole. `confidence` is what the ensemble's rule gives.

    Registered as a `Predictor` with name "bidaf_ensemble".

    # Parameters

    model : `Model`
        An `AttentionFlowEnsemble`.
    dataset_reader : `DatasetReader`
        Its tokens are those that `best_span` counts.
    frozen : `bool`, optional (default = `True`)
    max_answer_length : `int`, optional (default = `None`)
        For all members, in place of what they were trained with; each counts its own tokens.
    pretrained_file : `str`, optional (default = `None`)
        As for `SpanPredictor`, for all members.
    skip_bad : `bool`, optional (default = `False`)
    n_best : `int`, optional (default = `None`)
        Give so many answers as `n_best`, see `AttentionFlowEnsemble`.
    no_answer_threshold : `float`, optional (default = `None`)
        There is no answer if `no_answer_probability` is larger than this. By default, if it is larger
        than the confidence in the best span.
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
    ) -> None:
        super().__init__(model, dataset_reader, frozen, skip_bad, n_best)
        if no_answer_threshold is not None and not model.no_answer:
            raise ConfigurationError(
                "no_answer_threshold needs a member that was trained with `no_answer: true`"
            )
        model.no_answer_threshold = no_answer_threshold
        for member in model.members:
            if max_answer_length is not None:
                member._output_layer.decoder.set_max_answer_length(max_answer_length)
            if pretrained_file is not None:
                learn_words(member, pretrained_file)

    @overrides
    def check(self, record: Any) -> Record:
        checked = super().check(record)
        if checked.is_list:
            raise DataError(
                "an ensemble reads one 'passage' for a question, not several 'passages'"
            )
        return checked

    @overrides(check_signature=False)
    def predict_batches(
        self, questions: Sequence[QuestionOnPassages], batch_size: Optional[int] = None
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        questions = self._with_number_of_answers(questions)
        instances = [question.instances[0] for question in questions]
        for indices in self.make_sampler(batch_size).get_batch_indices(instances):
            output_dict = self.run_model([instances[index] for index in indices])
            readable = self._model.make_output_human_readable(output_dict)
            answers = []
            for row, index in enumerate(indices):
                record = {name: column[row] for name, column in readable.items()}
                number = questions[index].n_best
                if number is not None:
                    listed = self._model.list_answers(output_dict, row, number)
                    record["n_best"] = [answer.to_json() for answer in listed]
                answers.append(record)
            yield indices, answers
