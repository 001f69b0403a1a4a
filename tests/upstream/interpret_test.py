from pathlib import Path
from typing import List

import pytest
from allennlp.interpret import Attacker
from allennlp.predictors import Predictor

from bidaf_plugin.predictors import SpanPredictor

RECORD = {
    "question": "Who planted the orchard of Ölva?",
    "passage": "The orchard of Ölva was planted in 1854 by the gardener Marta Venn.",
}
QUESTION_WORDS = ["Who", "planted", "the", "orchard", "of", "Ölva", "?"]


@pytest.fixture
def predictor(tiny_archive: Path) -> SpanPredictor:
    found = Predictor.from_path(tiny_archive)
    assert isinstance(found, SpanPredictor)
    return found


def span_with_words(predictor: SpanPredictor, words: List[str]) -> List[int]:
    """What is predicted if the question has these words."""
    (instance,) = predictor.json_to_labeled_instances(RECORD)
    instance["question"].tokens = [
        token for token in instance["question"].tokens if token.text in words
    ]
    predictor._dataset_reader.apply_token_indexers(instance)
    return predictor._model.forward_on_instance(instance)["best_span"]


class TestAttackers:
    def test_input_reduction_leaves_the_prediction(self, predictor: SpanPredictor) -> None:
        attacker = Attacker.by_name("input-reduction")(predictor)
        result = attacker.attack_from_json(RECORD, "question", "grad_input_2")
        assert result["original"] == QUESTION_WORDS
        (final,) = result["final"]
        assert 1 <= len(final) < len(QUESTION_WORDS)
        remaining = iter(QUESTION_WORDS)
        assert all(word in remaining for word in final)
        assert span_with_words(predictor, final) == predictor.predict_json(RECORD)["best_span"]

    @pytest.mark.parametrize(
        "field_name, gradients", [("question", "grad_input_2"), ("passage", "grad_input_1")]
    )
    def test_hotflip_exchanges_words_until_the_prediction_changes(
        self, predictor: SpanPredictor, field_name: str, gradients: str
    ) -> None:
        attacker = Attacker.by_name("hotflip")(predictor)
        result = attacker.attack_from_json(RECORD, field_name, gradients)
        (final,) = result["final"]
        assert len(final) == len(result["original"])
        flipped = [new for new, old in zip(final, result["original"], strict=True) if new != old]
        assert flipped
        vocabulary = predictor._model.vocab.get_token_to_index_vocabulary("tokens")
        assert all(word in vocabulary for word in flipped)
        (outputs,) = result["outputs"]
        unflipped = [word for word in result["original"] if word not in ".?"]
        span = predictor.predict_json(RECORD)["best_span"]
        # Or there is nothing left to exchange.
        assert outputs["best_span"] != span or len(flipped) == len(unflipped)
