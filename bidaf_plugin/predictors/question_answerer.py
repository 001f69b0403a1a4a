from itertools import chain
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import torch
from allennlp.common.util import JsonDict, lazy_groups_of
from allennlp.data import Batch, BatchSampler, DatasetReader
from allennlp.models import Model
from allennlp.nn import util

from bidaf_plugin.predictors.pieces import Piece, PieceCutter, QuestionOnPassages
from bidaf_plugin.predictors.ranking import Ranking
from bidaf_plugin.predictors.records import make_record

# Among so many passages, or pieces of them, those of similar length are read together.
_PIECES_AT_ONCE = 2_000


class QuestionAnswerer:
    """
    Answers a list of questions: cuts their passages into pieces, has the model read these in batches,
    and makes one answer of what it says about the pieces of a question. It holds some thousand pieces
    and the tensors of one batch at a time.

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
    cutter : `PieceCutter`
    sampler : `BatchSampler`
    n_best : `int`, optional (default = `None`)
        How many answers to list, if a question does not say it itself; None for no list.
    """

    def __init__(
        self,
        model: Model,
        dataset_reader: DatasetReader,
        cutter: PieceCutter,
        sampler: BatchSampler,
        n_best: Optional[int] = None,
    ) -> None:
        self._model = model
        self._dataset_reader = dataset_reader
        self._cutter = cutter
        self._sampler = sampler
        self._n_best = n_best

    def answer(
        self, questions: Sequence[QuestionOnPassages]
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        # Returns

        `Iterator[Tuple[List[int], List[JsonDict]]]`
            For each batch, the places of the questions that it completes, and their answers. There
            may be none.
        """
        # What has been found for questions that need more than the model's best span of one passage.
        rankings: Dict[int, Ranking] = {}
        pieces = chain.from_iterable(
            self._cut(place, question, rankings) for place, question in enumerate(questions)
        )
        for group in lazy_groups_of(pieces, _PIECES_AT_ONCE):
            for indices in self._sampler.get_batch_indices([piece.instance for piece in group]):
                batch = [group[index] for index in indices]
                answers = self._read(batch, questions, rankings)
                yield list(answers), list(answers.values())

    def _cut(
        self, place: int, question: QuestionOnPassages, rankings: Dict[int, Ranking]
    ) -> List[Piece]:
        pieces = self._cutter.cut(place, question.instances)
        n_best = self._number_of_answers(question)
        if n_best is not None or question.is_list or len(pieces) > 1:
            decoder = self._model._output_layer.decoder
            rankings[place] = Ranking(len(pieces), n_best or 1, decoder.max_answer_length)
        return pieces

    def _number_of_answers(self, question: QuestionOnPassages) -> Optional[int]:
        return self._n_best if question.n_best is None else question.n_best

    def _read(
        self,
        pieces: List[Piece],
        questions: Sequence[QuestionOnPassages],
        rankings: Dict[int, Ranking],
    ) -> Dict[int, JsonDict]:
        """The answers to the questions that are complete with these pieces, by their places."""
        output_dict = self._run(pieces)
        readable = self._model.make_output_human_readable(output_dict)
        # It is of the whole batch.
        readable.pop("loss", None)
        answers = {}
        for row, piece in enumerate(pieces):
            ranking = rankings.get(piece.question)
            n_best = self._number_of_answers(questions[piece.question])
            if ranking is None:
                record = {name: column[row] for name, column in readable.items()}
                answers[piece.question] = self._complete(record, output_dict, row, n_best)
                continue
            self._rank(piece, output_dict, row, ranking)
            if ranking.num_missing == 0:
                no_answer_logits = output_dict.get("no_answer_logits")
                answers[piece.question] = make_record(
                    readable["id"][row],
                    rankings.pop(piece.question),
                    self._model._output_layer.decoder,
                    None if no_answer_logits is None else no_answer_logits[row].tolist(),
                    with_n_best=n_best is not None,
                    with_passage_index=questions[piece.question].is_list,
                )
        return answers

    def _complete(
        self, record: JsonDict, output_dict: Dict[str, Any], row: int, n_best: Optional[int]
    ) -> JsonDict:
        """What is to be added to the model's own answer: nothing."""
        return record

    def _run(self, pieces: List[Piece]) -> Dict[str, Any]:
        instances = [piece.instance for piece in pieces]
        for instance in instances:
            self._dataset_reader.apply_token_indexers(instance)
        batch = Batch(instances)
        batch.index_instances(self._model.vocab)
        device = self._model._get_prediction_device()
        with torch.no_grad():
            return self._model(**util.move_to_device(batch.as_tensor_dict(), device))

    def _rank(
        self, piece: Piece, output_dict: Dict[str, torch.Tensor], row: int, ranking: Ranking
    ) -> None:
        length = len(piece.instance["passage"])
        # Shape: (num_tokens,) for both
        start_logits, end_logits = (
            output_dict[name][row, :length].double().cpu().numpy()
            for name in ("span_start_logits", "span_end_logits")
        )
        ranking.add(piece, start_logits, end_logits)
