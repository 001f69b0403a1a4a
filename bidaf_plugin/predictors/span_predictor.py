from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import JsonDict, lazy_groups_of
from allennlp.data import DatasetReader, Instance
from allennlp.data.fields import MetadataField
from allennlp.models import Model
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.data.fields import AnswerSpansField, CompactTextField
from bidaf_plugin.data.fields.answer_spans_field import IMPOSSIBLE
from bidaf_plugin.data.tokenizers.text_tokens import with_offsets
from bidaf_plugin.predictors.pieces import Piece, PieceCutter, QuestionOnPassages
from bidaf_plugin.predictors.span_predictor_base import (
    SpanPredictorBase,
    check_whole_numbers,
    learn_words,
)
from bidaf_plugin.runtime.options import AnswerOptions
from bidaf_plugin.runtime.pieces import PieceSettings
from bidaf_plugin.runtime.ranking import Ranking

_PIECE_TOKENS = 400
# Among so many passages, or pieces of them, those of similar length are read together. No more of them
# are held at a time.
_PIECES_AT_ONCE = 2_000


@Predictor.register("bidaf_span")
class SpanPredictor(SpanPredictorBase):
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
        sum over all places in which it stands, of which the most probable is named; what differs only in case,
        or in articles and punctuation at its ends, is one answer. (`best_span_str`
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
        super().__init__(model, dataset_reader, frozen, skip_bad, n_best)
        check_whole_numbers(
            max_passage_tokens=max_passage_tokens, piece_tokens=piece_tokens, stride=stride
        )
        piece_tokens = min(piece_tokens or _PIECE_TOKENS, max_passage_tokens)
        stride = stride or max(piece_tokens * 3 // 4, 1)
        if stride > piece_tokens:
            raise ConfigurationError(
                f"stride is {stride} and piece_tokens {piece_tokens}: what lies between two pieces would "
                "not be read"
            )
        self._pieces = PieceSettings(max_passage_tokens, stride, passage_weight, piece_tokens)
        self._decoder = model._output_layer.decoder
        if max_answer_length is not None:
            self._decoder.set_max_answer_length(max_answer_length)
        if no_answer_threshold is not None:
            self._decoder.set_no_answer_threshold(no_answer_threshold)
        if pretrained_file is not None:
            learn_words(model, pretrained_file)

    def piece_settings(self) -> PieceSettings:
        """How passages are cut into pieces."""
        # The logits that the weight is weighed against are divided by the temperature, too.
        temperature = self._model._output_layer.temperature
        return self._pieces._replace(passage_weight=self._pieces.passage_weight / temperature)

    @property
    def options(self) -> AnswerOptions:
        """How questions are answered, if it is not said otherwise."""
        decoder = self._decoder
        limits = decoder.max_answer_length, decoder.no_answer_threshold
        return AnswerOptions(self.piece_settings(), *limits)

    def answer_all(
        self, records: Sequence[JsonDict], options: Optional[AnswerOptions] = None
    ) -> List[JsonDict]:
        """
        The records of the answers to questions that are JSON objects, in their order.

        # Parameters

        records : `Sequence[JsonDict]`
        options : `AnswerOptions`, optional (default = `None`)
            In place of those of the predictor.
        """
        answers: Dict[int, JsonDict] = {}
        for batch in self.predict_batches(self.make_questions(records), options=options):
            answers.update(zip(*batch, strict=True))
        return [answers[index] for index in range(len(records))]

    def cut_question(self, question: str, max_tokens: int) -> str:
        """A question without the words beyond so many."""
        tokens = self._dataset_reader.text_to_instance(question, question)["question"].tokens
        tokens = with_offsets(tokens, question)[:max_tokens]
        return question[: tokens[-1].idx_end]

    @overrides(check_signature=False)
    def predict_batches(
        self,
        questions: Sequence[QuestionOnPassages],
        batch_size: Optional[int] = None,
        options: Optional[AnswerOptions] = None,
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        Answers questions in batches of passages of similar length. A batch may complete no question.

        # Parameters

        questions : `Sequence[QuestionOnPassages]`
        batch_size : `int`, optional (default = `None`)
            Passages, or pieces of them, per batch. By default as many as are answered fastest.
        options : `AnswerOptions`, optional (default = `None`)
            In place of those of the predictor.
        """
        questions = self._with_number_of_answers(questions)
        sampler = self.make_sampler(batch_size)
        rankings: Dict[int, Ranking] = {}
        pieces = self._cut(questions, rankings, options or self.options, options is not None)
        threshold = (options or self.options).no_answer_threshold
        for group in lazy_groups_of(pieces, _PIECES_AT_ONCE):
            for indices in sampler.get_batch_indices([piece.instance for piece in group]):
                batch = [group[index] for index in indices]
                answers = self._answer(batch, questions, rankings, threshold)
                yield list(answers), list(answers.values())

    def _cut(
        self,
        questions: Sequence[QuestionOnPassages],
        rankings: Dict[int, Ranking],
        options: AnswerOptions,
        rank_all: bool,
    ) -> Iterator[Piece]:
        """
        The pieces of all passages; `rankings` for those questions that need more than a best span, as the model
        finds it, or for all.
        """
        cutter = PieceCutter(options.pieces)
        for index, question in enumerate(questions):
            pieces = cutter.cut(index, question.instances)
            if rank_all or question.n_best is not None or question.is_list or len(pieces) > 1:
                limit = options.max_answer_length
                rankings[index] = Ranking(len(pieces), question.n_best, limit)
            yield from pieces

    def _answer(
        self,
        pieces: Sequence[Piece],
        questions: Sequence[QuestionOnPassages],
        rankings: Dict[int, Ranking],
        no_answer_threshold: Optional[float],
    ) -> Dict[int, JsonDict]:
        """The answers to the questions that are complete with these pieces, by their indices."""
        output_dict = self.run_model([piece.instance for piece in pieces])
        readable = self._model.make_output_human_readable(output_dict)
        answers = {}
        for row, piece in enumerate(pieces):
            index = piece.question_index
            ranking = rankings.get(index)
            if ranking is None:
                answers[index] = {name: column[row] for name, column in readable.items()}
                continue
            length = len(piece.instance["passage"])
            # Shape: (num_tokens,) for both
            start_logits, end_logits = (
                output_dict[f"span_{side}_logits"][row, :length].double().cpu().numpy()
                for side in ("start", "end")
            )
            no_answer_logits = None
            if "no_answer_logits" in output_dict:
                no_answer_logits = output_dict["no_answer_logits"][row].tolist()
            ranking.add(piece.as_read(), start_logits, end_logits, no_answer_logits)
            if ranking.num_missing == 0:
                answers[index] = rankings.pop(index).to_record(
                    readable["id"][row],
                    questions[index].is_list,
                    no_answer_threshold,
                )
        return answers

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
