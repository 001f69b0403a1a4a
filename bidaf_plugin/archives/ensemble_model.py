from os import PathLike
from typing import Any, Dict, List, Optional, Sequence, Union

import torch
from allennlp.data import Vocabulary
from allennlp.models import Model
from overrides import overrides

from bidaf_plugin.archives.ensemble import check_members, gather_members, load_member
from bidaf_plugin.data.dataset_readers import squad_json
from bidaf_plugin.data.dataset_readers.squad_instances import find_token_span
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.modules.ensemble_rules import (
    Candidate,
    EnsembleRule,
    SpanDistribution,
    VotesRule,
    distinct_candidates,
)
from bidaf_plugin.modules.output_layers.span_targets import is_known
from bidaf_plugin.predictors.span_distributions import find_distributions
from bidaf_plugin.training.metrics import Squad2EmAndF1, SquadEmAndF1


@Model.register("attention_flow_ensemble")
class AttentionFlowEnsemble(Model):
    """
    Trained span models that answer together. Every member reads the text itself, with its own
    tokenizer and its own vocabulary, so members may differ in both; what a reader has made of the text
    for the ensemble is only used to say which tokens the answer is.

    An ensemble is not trained. An archive of it comes from `allennlp bidaf ensemble ... --archive`, or
    from `allennlp train` with the trainer "no_op" and `"include_in_archive": ["members"]`, see
    `training_configs/bidaf_squad_ensemble.jsonnet`. It has its members in it, unpacked, in the folder
    `members`.

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

    # Attributes

    no_answer : `bool`
        Whether a member can say that there is no answer.
    no_answer_threshold : `float`
        See `EnsembleRule.best`.
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
        self.no_answer = any(model._output_layer.no_answer for model in models)
        self._em_and_f1 = Squad2EmAndF1() if self.no_answer else SquadEmAndF1()
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
            What the reader knows of each question. `question` and `passage` are what the members read.
        answer_spans : `torch.LongTensor`, optional
            As for `SpanOutputLayer`: which questions are scored, against `answers` of the metadata.
        texts : `Any`
            Question and passage as the ensemble's reader sees them, which are not looked at.

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
            places = is_known(answer_spans, self.no_answer).nonzero().flatten().tolist()
            self._em_and_f1(
                [answers[place].text(metadata[place]["passage"]) for place in places],
                [metadata[place]["answers"] for place in places],
            )
        return {"distributions": distributions, "answers": answers, "metadata": metadata}

    @overrides(check_signature=False)
    def make_output_human_readable(self, output_dict: Dict[str, Any]) -> Dict[str, Any]:
        """
        # Returns

        `Dict[str, Any]`
            As of a single model, see `SpanOutputLayer`. `best_span` are the tokens of the ensemble's
            reader that overlap the answer, `confidence` is what the rule gives, and so is
            `no_answer_probability`, if a member can say that there is no answer.
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

    def list_answers(
        self, output_dict: Dict[str, Any], row: int, number: int
    ) -> List[Dict[str, Any]]:
        """
        The best answers to a question of a batch, as `n_best` of `SpanPredictor`, but what is added up
        for an answer are the places among the best spans: as many as hold `number` different answers.

        # Parameters

        output_dict : `Dict[str, Any]`
            What `forward` returned.
        row : `int`
            The place of the question in the batch.
        number : `int`
        """
        distributions: Sequence[SpanDistribution] = output_dict["distributions"][row]
        metadata = output_dict["metadata"][row]
        passage = metadata["passage"]
        candidates = self._rule.candidates(distributions, passage)
        return [
            {
                "text": candidate.text(passage),
                "probability": candidate.confidence,
                "characters": candidate.span and list(candidate.span),
                "tokens": _find_tokens(candidate, metadata),
                "passage_index": 0,
            }
            for candidate in distinct_candidates(candidates, passage, number)
        ]

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
    answer = squad_json.Answer(candidate.text(metadata["passage"]), candidate.span[0])
    span = find_token_span(*character_offsets(metadata["passage_tokens"]), answer)
    return None if span is None else list(span)
