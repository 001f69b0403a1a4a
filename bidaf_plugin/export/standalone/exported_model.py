from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Union

from safetensors.torch import load as load_tensors

from bidaf_plugin.export.standalone.artifact import Artifact
from bidaf_plugin.export.standalone.batches import make_batch, plan_batches
from bidaf_plugin.export.standalone.best_answer import BestAnswer, decide
from bidaf_plugin.export.standalone.errors import ExportedModelError
from bidaf_plugin.export.standalone.exported_rules import ExportedRules
from bidaf_plugin.export.standalone.exported_tokenizer import ExportedTokenizer, Tokens
from bidaf_plugin.export.standalone.network import Network
from bidaf_plugin.export.standalone.pieces import PassageCutter, Piece
from bidaf_plugin.export.standalone.questions import Record, check_record, passages_of


class ExportedModel:
    """
    Answers questions about passages with a model that `allennlp bidaf export` wrote, on the CPU. It
    needs torch, numpy and safetensors, and reads nothing but JSON and tensors.

    # Parameters

    path : `Union[str, Path]`
        The file, or the folder that it was unpacked to.

    # Attributes

    max_answer_length : `int`
        In tokens; None for no limit.
    no_answer_threshold : `float`
        The probability of no answer above which it is the answer; None for that of the best span. Only
        for models that know of questions without an answer.
    manifest : `Dict[str, Any]`
        What the model was made of, and with what.
    """

    def __init__(self, path: Union[str, Path]) -> None:
        try:
            self._load(Artifact(path))
            # Sizes and names that do not fit together show here, and not at the first question.
            self.answer("Who built it?", "The mill was built by Ada Orn in 1871.")
        except ExportedModelError:
            raise
        except Exception as error:
            # Whatever it is: the file may come from anywhere, and nothing else is at work yet.
            message = str(error).partition("\n")[0]
            raise ExportedModelError(
                f"{path}: not a whole exported model ({type(error).__name__}: {message:.200})"
            ) from error

    def _load(self, artifact: Artifact) -> None:
        settings = artifact.read_json("settings.json")
        rules = ExportedRules(artifact.read_json("tokenizer.json"))
        self._question_tokenizer, self._passage_tokenizer = (
            ExportedTokenizer(rules, **settings[name])
            for name in ("question_tokenizer", "passage_tokenizer")
        )
        self._network = Network(
            settings["network"],
            artifact.read_json("vocabulary.json"),
            load_tensors(artifact.read("weights.safetensors")),
        )
        self._piece_settings: Dict[str, Any] = settings["pieces"]
        self.manifest = artifact.manifest
        self.max_answer_length: Optional[int] = settings["max_answer_length"]
        self.no_answer_threshold: Optional[float] = settings["no_answer_threshold"]

    def answer(self, question: str, passage: str) -> Dict[str, Any]:
        """Answers one question: see `answer_all`."""
        return self.answer_all([{"question": question, "passage": passage}])[0]

    def answer_all(self, records: Sequence[Record]) -> List[Dict[str, Any]]:
        """
        Answers any number of questions; many at once are faster than one by one.

        # Parameters

        records : `Sequence[Record]`
            With `question`, `passage` (or a list of `passages`) and, if wanted, `id`.

        # Returns

        `List[Dict[str, Any]]`
            In the order of the questions, with the keys that `SpanPredictor` gives: `id`,
            `best_span_str` (the answer, cut from the passage), `best_span` (first and last token,
            inclusive), `best_span_characters` (first character and one past the last), `confidence`
            (the probability of this span); `passage_index` if there were `passages`; for models that
            know of questions without an answer `no_answer_probability`, and for no answer an empty
            text and None for the rest.
        """
        for record in records:
            check_record(record)
        questions = [self._question_tokenizer.tokenize(record["question"]) for record in records]
        pieces = self._cut_passages(records, questions)
        bests = [BestAnswer() for _ in records]
        for places in plan_batches(
            [questions[piece.question] for piece in pieces], [piece.tokens for piece in pieces]
        ):
            batch = [pieces[place] for place in places]
            prediction = self._network(
                make_batch(
                    [questions[piece.question] for piece in batch],
                    [piece.tokens for piece in batch],
                ),
                self.max_answer_length,
            )
            columns = (column.tolist() for column in prediction)
            for piece, *found in zip(batch, *columns, strict=True):
                bests[piece.question].add(piece, *found)
        return [self._decide(record, best) for record, best in zip(records, bests, strict=True)]

    def _cut_passages(self, records: Sequence[Record], questions: List[Tokens]) -> List[Piece]:
        # A passage that several questions are about is cut once.
        texts = dict.fromkeys(text for record in records for text in passages_of(record))
        tokens = {text: self._passage_tokenizer.tokenize(text) for text in texts}
        cutter = PassageCutter(**self._piece_settings)
        return [
            piece
            for place, (record, question) in enumerate(zip(records, questions, strict=True))
            for piece in cutter.cut(place, question, [tokens[text] for text in passages_of(record)])
        ]

    def _decide(self, record: Record, best: BestAnswer) -> Dict[str, Any]:
        no_answer_logits = self._network.no_answer_logits
        if no_answer_logits is None:
            return best.to_json(record)
        probability = best.add_no_answer(*no_answer_logits)
        return decide(best.to_json(record), probability, self.no_answer_threshold)
