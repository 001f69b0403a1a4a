from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
from allennlp.common.util import JsonDict
from allennlp.data import Instance
from allennlp.data.fields import ArrayField
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.cloze_files import read_question_file
from bidaf_plugin.data.dataset_readers.cloze_question import (
    ENTITY,
    ClozeQuestion,
    make_question,
    parse_question,
)
from bidaf_plugin.data.samplers import WindowBudgetSampler
from bidaf_plugin.predictors.question_predictor import QuestionPredictor
from bidaf_plugin.predictors.records import check_single_passage

# The question, and its passage as it was given.
CheckedCloze = Tuple[ClozeQuestion, str]

# Padded words that are read at once: some 1,600 windows.
MAX_WORDS = 30_000


@Predictor.register("bidaf_cloze")
class ClozePredictor(QuestionPredictor):
    """
    Fills gaps with entities. Input: JSON objects (JSON lines in a file) with

    - `question` : with one `@placeholder`,
    - `passage` : a text with entities like `@entity3` (`context` will do, too),
    - `id` : optional, given back with the answer (`qid` will do, too),
    - `names` : optional, the real names of entities, `{"@entity3": "Ada Orn"}`, likewise,
    - `answer` : optional, the right entity, for the model's accuracy.

    Output: `id`, `best_entity`, `best_entity_name`, `confidence` (its probability) and `candidates`,
    all entities of the passage with their probabilities and mentions, see `ClozeOutputLayer`.
    `characters` of a mention are those of the passage as it was given.

    Registered as a `Predictor` with name "bidaf_cloze".

    # Parameters

    model : `Model`
    dataset_reader : `DatasetReader`
        A `BidafClozeReader`.
    frozen : `bool`, optional (default = `True`)
    skip_bad : `bool`, optional (default = `False`)
        For `allennlp predict`: a line that cannot be used gives a record with the key `error` instead
        of stopping.
    """

    def predict(
        self,
        question: str,
        passage: str,
        id: Optional[str] = None,
        names: Optional[Dict[str, str]] = None,
    ) -> JsonDict:
        """Answers one question."""
        return self.predict_json(
            {"question": question, "passage": passage, "id": id, "names": names}
        )

    def predict_question_file(self, path: str) -> JsonDict:
        """
        Answers a `.question` file. It need not have an answer. Folders, archives and packed files of them
        are refused: `allennlp predict --use-dataset-reader` answers those.
        """
        raw = read_question_file(str(path))
        question = parse_question(raw.content, raw.place, raw.id, needs_answer=False)
        return self.predict_instance(self._dataset_reader.question_to_instance(question))

    @overrides
    def check(self, record: Any) -> CheckedCloze:
        checked = check_single_passage(record)
        answer, names = record.get("answer"), record.get("names")
        if answer is not None and not (isinstance(answer, str) and ENTITY.fullmatch(answer)):
            raise DataError(f"'answer' must be an entity like '@entity3', found {answer!r:.60}")
        _check_names(names)
        (passage,) = checked.passages
        return make_question(checked.question, passage, answer, checked.id, names), passage

    @overrides(check_signature=False)
    def read_questions(self, checked: Sequence[CheckedCloze]) -> List[Instance]:
        instances = []
        for question, passage in checked:
            instance = self._dataset_reader.question_to_instance(question)
            # Where the spans are looked for: the words of the question's article were cut apart.
            instance["metadata"].metadata["text"] = passage
            instances.append(instance)
        return instances

    @overrides(check_signature=False)
    def predict_batches(
        self, questions: Sequence[Instance], batch_size: Optional[int] = None
    ) -> Iterator[Tuple[List[int], List[JsonDict]]]:
        """
        Answers questions in batches.

        # Parameters

        questions : `Sequence[Instance]`
        batch_size : `int`, optional (default = `None`)
            Questions per batch, at most. A batch never has more words than the machine can hold.
        """
        for instance in questions:
            self._dataset_reader.apply_token_indexers(instance)
        sampler = WindowBudgetSampler(
            batch_size or max(len(questions), 1), max_words=MAX_WORDS, shuffle=False
        )
        for indices in sampler.get_batch_indices(questions):
            answers = self._model.forward_on_instances([questions[index] for index in indices])
            # Not through AllenNLP's `sanitize`, which makes the text "None" of None. All is plain
            # but the loss, which is that of the batch.
            yield indices, [
                {name: value for name, value in answer.items() if name != "loss"}
                for answer in answers
            ]

    @overrides
    def _json_to_instance(self, json_dict: JsonDict) -> Instance:
        """For AllenNLP's interpretation."""
        return self.make_questions([json_dict])[0]

    @overrides
    def predictions_to_labeled_instances(
        self, instance: Instance, outputs: Dict[str, Any]
    ) -> List[Instance]:
        """
        The instance with the predicted entity as its answer, for the saliency of AllenNLP's interpretation.
        (Its attackers, which change texts, do not know of entities.)
        """
        if outputs["best_entity"] is None:
            raise DataError("the passage has no entity, and so there is no answer to explain")
        labeled = instance.duplicate()
        candidates = instance["metadata"]["candidates"]
        answer = numpy.array(candidates.index(outputs["best_entity"]))
        labeled.fields["answer_entity"] = ArrayField(answer, dtype=numpy.int64)
        return [labeled]


def _check_names(names: Any) -> None:
    if names is None:
        return
    if not isinstance(names, dict):
        raise DataError(
            f"'names' must be an object like {{'@entity3': 'Ada'}}, found {names!r:.60}"
        )
    for entity, name in names.items():
        if not ENTITY.fullmatch(entity) or not isinstance(name, str):
            raise DataError(
                f"'names' has {entity!r:.60}: {name!r:.60}; expected an entity like '@entity3' and "
                "its name"
            )
