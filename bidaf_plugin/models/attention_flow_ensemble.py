from os import PathLike
from typing import Any, Dict, List, Optional, Union

import torch
from allennlp.data import Vocabulary
from allennlp.models import Model
from overrides import overrides

from bidaf_plugin.dataset_readers.squad_json import Answer
from bidaf_plugin.dataset_readers.token_spans import character_offsets, find_token_span
from bidaf_plugin.metrics import SquadEmAndF1
from bidaf_plugin.models.ensemble_archive import check_members, gather_members
from bidaf_plugin.modules.ensemble_rules import EnsembleRule, VotesRule
from bidaf_plugin.predictors.load import load_member
from bidaf_plugin.predictors.span_distributions import find_distributions


@Model.register("attention_flow_ensemble")
class AttentionFlowEnsemble(Model):
    """
    Trained span models that answer together. Every member reads the text itself, with its own
    tokenizer and its own vocabulary, so members may differ in both; what a reader has made of the text
    for the ensemble is only used to say which tokens the answer is.

    An ensemble is not trained. An archive of it comes from `allennlp bidaf ensemble ... --archive`, or
    from `allennlp train` with the trainer "no_op" and `"include_in_archive": ["members"]`, see
    `training_configs/bidaf_squad_ensemble.jsonnet`. It has its members in it.

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

    default_predictor = "bidaf_span"
    # The weights are in the members' own files.
    authorized_missing_keys = [r"^_models\."]

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
        self._models = torch.nn.ModuleList(predictor._model for predictor in self._predictors)
        self._rule = rule or VotesRule()
        self._em_and_f1 = SquadEmAndF1()

    def forward(  # type: ignore[override]
        self, metadata: List[Dict[str, Any]], **fields: Any
    ) -> Dict[str, Any]:
        """
        # Parameters

        metadata : `List[Dict[str, Any]]`
            What the reader knows of each question. `question` and `passage` are what the members read;
            if there are `answers`, they are scored.
        fields : `Any`
            The reader's other fields, which are not looked at.

        # Returns

        `Dict[str, Any]`
            `candidates`, a `Candidate` for each question, and `metadata`.
        """
        questions = [{"question": m["question"], "passage": m["passage"]} for m in metadata]
        of_members = [find_distributions(predictor, questions) for predictor in self._predictors]
        candidates = [
            next(self._rule.candidates(distributions, item["passage"]))
            for item, *distributions in zip(metadata, *of_members, strict=True)
        ]
        output_dict = {"candidates": candidates, "metadata": metadata}
        answers = self.make_output_human_readable(output_dict)["best_span_str"]
        scored = [
            (answer, item["answers"])
            for answer, item in zip(answers, metadata, strict=True)
            if item["answers"]
        ]
        self._em_and_f1([answer for answer, _ in scored], [gold for _, gold in scored])
        return output_dict

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """
        # Returns

        `Dict[str, Any]`
            As of a single model, see `SpanOutputLayer`. `best_span` are the tokens of the ensemble's
            reader that overlap the answer, `confidence` is what the rule gives.
        """
        metadata, candidates = output_dict["metadata"], output_dict["candidates"]
        readable: Dict[str, List[Any]] = {
            "id": [item["id"] for item in metadata],
            "best_span_str": [],
            "best_span": [],
            "best_span_characters": [[c.start, c.end] for c in candidates],
            "confidence": [candidate.confidence for candidate in candidates],
        }
        for item, candidate in zip(metadata, candidates, strict=True):
            text = item["passage"][candidate.start : candidate.end]
            readable["best_span_str"].append(text)
            offsets = character_offsets(item["passage_tokens"])
            span = find_token_span(*offsets, Answer(text, candidate.start))
            readable["best_span"].append(None if span is None else list(span))
        return readable

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
