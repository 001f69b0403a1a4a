import sys
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors.ensemble_answerer import EnsembleAnswerer
from bidaf_plugin.predictors.pieces import PieceCutter, QuestionOnPassages
from bidaf_plugin.predictors.span_predictor import SpanPredictor
from bidaf_plugin.predictors.word_vectors import learn_words

_ONE_PASSAGE = "an ensemble reads one 'passage' for a question, not several 'passages'"


@Predictor.register("bidaf_ensemble")
class EnsemblePredictor(SpanPredictor):
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
        super().__init__(
            model,
            dataset_reader,
            frozen,
            skip_bad=skip_bad,
            n_best=n_best,
            max_passage_tokens=sys.maxsize,
        )
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
    def check(self, record: Any) -> None:
        super().check(record)
        if record.get("passages") is not None:
            raise DataError(_ONE_PASSAGE)

    @overrides
    def predict_batches(  # type: ignore[override]
        self,
        questions: Sequence[QuestionOnPassages],
        batch_size: Optional[int] = None,
        n_best: Optional[int] = None,
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        if any(question.is_list for question in questions):
            raise DataError(_ONE_PASSAGE)
        return EnsembleAnswerer(
            self._model,
            self._dataset_reader,
            PieceCutter(*self._piece_settings),
            self.make_sampler(batch_size),
            self._n_best if n_best is None else n_best,
        ).answer(questions)
