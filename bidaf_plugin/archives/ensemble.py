"""
Ensembles: archives of single models, alone or in the archive of the ensemble.
"""

import json
import os
import tempfile
from os import PathLike
from typing import Any, Dict, List, Optional, Sequence, Union

import torch
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Vocabulary
from allennlp.models import Model, archival
from overrides import overrides

from bidaf_plugin.archives.load import load_span_predictor, unpack_archive
from bidaf_plugin.archives.size_check import MEMBERS_FOLDER
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.dataset_readers.squad_instances import find_token_span
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.models import AttentionFlow
from bidaf_plugin.modules.ensemble_rules import (
    Candidate,
    EnsembleRule,
    VotesRule,
    merge_same_texts,
)
from bidaf_plugin.modules.output_layers.span_targets import is_known
from bidaf_plugin.predictors import Answer, SpanPredictor
from bidaf_plugin.predictors.span_distributions import find_distributions
from bidaf_plugin.training.metrics import Squad2EmAndF1, SquadEmAndF1


def check_members(members: Sequence[str]) -> None:
    """There must be some, and no archive may have two votes."""
    if not members:
        raise DataError("an ensemble needs the archives of its members; none is given")
    paths = set()
    for member in members:
        if (path := os.path.realpath(member)) in paths:
            raise DataError(f"{member} is given twice: the members of an ensemble must differ")
        paths.add(path)


def load_member(archive: str, cuda_device: int = -1, **predictor_args: Any) -> SpanPredictor:
    """A model that can be a member: one, and one that answers with spans."""
    predictor = load_span_predictor(archive, cuda_device, **predictor_args)
    if not isinstance(predictor._model, AttentionFlow):
        raise DataError(f"{archive}: an ensemble cannot be a member of an ensemble")
    return predictor


def gather_members(members: Sequence[str], serialization_dir: str) -> List[str]:
    """Unpacks archives into `serialization_dir`, unless they are there, and returns their folders."""
    parent = os.path.join(serialization_dir, MEMBERS_FOLDER)
    os.makedirs(parent, exist_ok=True)
    folders = [os.path.join(parent, str(number)) for number in range(len(members))]
    for member, folder in zip(members, folders, strict=True):
        if not os.path.isdir(folder):
            unpack_archive(member, folder)
    return folders


def write_ensemble_archive(members: Sequence[str], rule: str, path: str) -> None:
    """
    Writes an archive of an `AttentionFlowEnsemble`, which has its members in it: `allennlp predict` and
    `allennlp evaluate` take it like any other, anywhere.

    # Parameters

    members : `Sequence[str]`
        Archives of span models. The data of the ensemble is read as the first one reads it.
    rule : `str`
        The registered name of an `EnsembleRule`.
    path : `str`
        What to write: it is either whole or not there.
    """
    check_members(members)
    for member in members:
        load_member(member)
    with tempfile.TemporaryDirectory() as folder:
        first, *_ = gather_members(members, folder)
        with open(os.path.join(first, archival.CONFIG_NAME), encoding="utf-8") as file:
            config = json.load(file)
        config = {
            "dataset_reader": config.get("validation_dataset_reader") or config["dataset_reader"],
            "vocabulary": {"type": "empty"},
            "model": {
                "type": "attention_flow_ensemble",
                "members": [f"{MEMBERS_FOLDER}/{number}" for number in range(len(members))],
                "rule": rule,
            },
            "data_loader": config.get("validation_data_loader") or config["data_loader"],
            "evaluation": {"type": "bidaf_questions"},
        }
        with open(os.path.join(folder, archival.CONFIG_NAME), "w", encoding="utf-8") as file:
            json.dump(config, file, indent=4)
        Meta.new().to_file(os.path.join(folder, META_NAME))
        Vocabulary.empty().save_to_files(os.path.join(folder, "vocabulary"))
        # See `AttentionFlowEnsemble.state_dict`.
        torch.save({}, os.path.join(folder, archival._DEFAULT_WEIGHTS))
        # As repaired in `upstream`: the file is either whole or not there.
        archival.archive_model(folder, archive_path=path, include_in_archive=[MEMBERS_FOLDER])


@Model.register("attention_flow_ensemble")
class AttentionFlowEnsemble(Model):
    """
    Trained span models that answer together. Every member reads the text with its own tokenizer and its own
    vocabulary; the ensemble's reader is only used to say which tokens the answer is.

    An ensemble is not trained. Its archive comes from `allennlp bidaf ensemble ... --archive`, or from
    `allennlp train` with the trainer "no_op", see `training_configs/bidaf_squad_ensemble.jsonnet`, and has
    the members in it, unpacked, in the folder `members`.

    Registered as a `Model` with name "attention_flow_ensemble".

    # Parameters

    vocab : `Vocabulary`
        Not used; an empty one will do.
    members : `List[str]`
        Archives of "attention_flow" models with the output layer "span": paths or URLs.
    rule : `EnsembleRule`, optional (default = `VotesRule()`)
        What they answer together, and with which confidence.
    serialization_dir : `str`, optional (default = `None`)
        The members are unpacked into its folder `members`, or taken from there if they are in it.
    """

    default_predictor = "bidaf_ensemble"
    # The weights are in the members' own files.
    authorized_missing_keys = [r"^members\."]

    def __init__(
        self,
        vocab: Vocabulary,
        members: List[str],
        rule: Optional[EnsembleRule] = None,
        serialization_dir: Optional[Union[str, PathLike]] = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(vocab, serialization_dir=serialization_dir, **kwargs)
        check_members(members)
        if serialization_dir is not None:
            members = gather_members(members, str(serialization_dir))
        self._predictors = [load_member(member) for member in members]
        models = [predictor._model for predictor in self._predictors]
        self.members = torch.nn.ModuleList(models)
        self._rule = rule or VotesRule()
        # Whether a member can say that there is no answer.
        self.no_answer = any(model._output_layer.no_answer for model in models)
        self._em_and_f1 = Squad2EmAndF1() if self.no_answer else SquadEmAndF1()
        # See `EnsembleRule.best`.
        self.no_answer_threshold: Optional[float] = None

    def forward(  # type: ignore[override]
        self,
        metadata: List[Dict[str, Any]],
        answer_spans: Optional[torch.Tensor] = None,
        **texts: Any,
    ) -> Dict[str, Any]:
        """
        # Parameters

        metadata : `List[Dict[str, Any]]`
            What the reader knows. The members read `question` and `passage`, and not the reader's `texts`.
        answer_spans : `torch.LongTensor`, optional
            As for `SpanOutputLayer`: which questions are scored, against `answers` of the metadata.

        # Returns

        `Dict[str, Any]`
            `distributions`, for each question a `SpanDistribution` of each member; `answers`, the
            `Candidate` that the rule chooses; and `metadata`.
        """
        questions = [{"question": m["question"], "passage": m["passage"]} for m in metadata]
        of_members = [find_distributions(predictor, questions) for predictor in self._predictors]
        distributions = list(zip(*of_members, strict=True))
        answers = [
            self._rule.best(of_question, item["passage"], self.no_answer_threshold)
            for of_question, item in zip(distributions, metadata, strict=True)
        ]
        if answer_spans is not None:
            rows = is_known(answer_spans, self.no_answer).nonzero().flatten().tolist()
            self._em_and_f1(
                [answers[row].text(metadata[row]["passage"]) for row in rows],
                [metadata[row]["answers"] for row in rows],
            )
        return {"distributions": distributions, "answers": answers, "metadata": metadata}

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """
        As of a single model, see `SpanOutputLayer`. `best_span` are the tokens of the ensemble's reader
        that overlap the answer; `confidence` and `no_answer_probability` are what the rule gives.
        """
        metadata, answers = output_dict["metadata"], output_dict["answers"]
        rows = list(zip(output_dict["distributions"], answers, metadata, strict=True))
        readable: Dict[str, List[Any]] = {
            "id": [item["id"] for item in metadata],
            "best_span_str": [answer.text(item["passage"]) for _, answer, item in rows],
            "best_span": [_find_tokens(answer, item) for _, answer, item in rows],
            "best_span_characters": [answer.span and list(answer.span) for answer in answers],
            "confidence": [answer.confidence for answer in answers],
        }
        if self.no_answer:
            readable["no_answer_probability"] = [
                self._rule.no_answer_probability(of_question) for of_question, _, _ in rows
            ]
        return readable

    def list_answers(self, output_dict: Dict[str, Any], row: int, number: int) -> List[Answer]:
        """
        The best answers to the question in a row of what `forward` returned. Their probabilities are sums over
        the spans that read the same, among so many of the best as hold `number` different answers.
        """
        metadata = output_dict["metadata"][row]
        passage = metadata["passage"]
        candidates = self._rule.candidates(output_dict["distributions"][row], passage)
        answers = []
        for candidate in merge_same_texts(candidates, passage, number):
            assert candidate.span is not None  # that there is no answer is not among them
            tokens = _find_tokens(candidate, metadata) or (None, None)
            text = candidate.text(passage)
            answers.append(Answer(text, candidate.confidence, *candidate.span, *tokens))
        return answers

    @overrides
    def get_metrics(self, reset: bool = False) -> Dict[str, float]:
        return self._em_and_f1.get_metric(reset)

    @overrides(check_signature=False)
    def extend_embedder_vocab(
        self, embedding_sources_mapping: Optional[Dict[str, str]] = None
    ) -> None:
        """Does nothing: the members' embedders go with the members' vocabularies."""

    @overrides(check_signature=False)
    def state_dict(self, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        """Empty, since the members are stored as they are and not a second time."""
        return {}


def _find_tokens(candidate: Candidate, metadata: Dict[str, Any]) -> Optional[List[int]]:
    """The first and the last token that overlap an answer."""
    if candidate.span is None:
        return None
    span = find_token_span(character_offsets(metadata["passage_tokens"]), *candidate.span)
    return None if span is None else list(span)
