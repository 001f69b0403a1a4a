from pathlib import Path
from typing import Any

import numpy
import pytest
import torch
from allennlp.interpret.saliency_interpreters import SaliencyInterpreter
from allennlp.predictors import Predictor

from bidaf_plugin.analysis.saliency import METHODS, find_saliency, format_saliency, render_saliency
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import ClozePredictor, SpanPredictor
from tests.analysis.attention_helpers import tiny_predictor
from tests.cloze_helpers import ARTICLE, QUESTION
from tests.html_helpers import HOSTILE, Page

# "by" and "a" stand twice in the passage, and must each count by themselves.
RECORD = {"question": "Who cut it?", "passage": "It was cut by a man by a mill in 1901."}
WORDS = ["It", "was", "cut", "by", "a", "man", "by", "a", "mill", "in", "1901", "."]


@pytest.fixture
def precise_predictor() -> SpanPredictor:
    predictor = tiny_predictor()
    predictor._model.double()
    return predictor


def loss_with(predictor: SpanPredictor, instance: Any, place: int, change: numpy.ndarray) -> float:
    """The loss if the vector of a passage word is changed."""

    def add(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> torch.Tensor:
        output = output.clone()
        if output.size(1) == len(WORDS):
            output[0, place] += torch.from_numpy(change)
        return output

    handle = predictor.get_interpretable_layer().register_forward_hook(add)
    with predictor._model.words_apart():
        loss = float(predictor._model.forward_on_instance(instance)["loss"])
    handle.remove()
    return loss


class TestGradients:
    def test_they_are_those_of_each_position(self, precise_predictor: SpanPredictor) -> None:
        (instance,) = precise_predictor.json_to_labeled_instances(RECORD)
        gradients, _ = precise_predictor.get_gradients([instance])
        passage, question = gradients["grad_input_1"], gradients["grad_input_2"]
        assert passage.shape[:2] == (1, len(WORDS))
        assert question.shape[:2] == (1, 4)
        for place in (3, 6, 11):
            # The loss has single precision, so the step must not be small.
            length = numpy.linalg.norm(passage[0, place])
            step = 0.05 * passage[0, place] / length
            difference = loss_with(precise_predictor, instance, place, step) - loss_with(
                precise_predictor, instance, place, -step
            )
            assert length == pytest.approx(difference / (2 * 0.05), rel=0.01)
        assert not numpy.allclose(passage[0, 3], passage[0, 6], rtol=0.1)

    def test_the_normal_path_computes_a_word_once_again_afterwards(
        self, precise_predictor: SpanPredictor
    ) -> None:
        sizes = []
        layer = precise_predictor.get_interpretable_layer()
        (instance,) = precise_predictor.json_to_labeled_instances(RECORD)
        precise_predictor.get_gradients([instance])
        layer.register_forward_hook(lambda module, inputs, output: sizes.append(output.size(1)))
        precise_predictor.predict_json(RECORD)
        # "by" and "a" stand in the passage twice, and "cut" in both texts.
        assert sizes == [32] and len({*WORDS, "Who", "cut", "it", "?"}) < 32

    def test_simple_gradient_is_gradient_times_vector(
        self, precise_predictor: SpanPredictor
    ) -> None:
        outputs = []
        layer = precise_predictor.get_interpretable_layer()
        (instance,) = precise_predictor.json_to_labeled_instances(RECORD)
        handle = layer.register_forward_hook(lambda module, i, output: outputs.append(output))
        gradients, _ = precise_predictor.get_gradients([instance])
        handle.remove()
        product = (gradients["grad_input_1"][0] * outputs[1][0].detach().numpy()).sum(axis=1)
        saliency = find_saliency(precise_predictor, RECORD, "simple-gradient")
        expected = numpy.abs(product) / numpy.abs(product).sum()
        assert [word.score for word in saliency.passage] == pytest.approx(expected.tolist())


class TestFindSaliency:
    @pytest.mark.parametrize("method", METHODS)
    def test_each_word_has_a_share(self, tiny_archive: Path, method: str) -> None:
        predictor = Predictor.from_path(tiny_archive)
        saliency = find_saliency(predictor, RECORD, method)
        assert saliency.answer == predictor.predict_json(RECORD)["best_span_str"]
        assert [word.word for word in saliency.passage] == WORDS
        assert [word.word for word in saliency.question] == ["Who", "cut", "it", "?"]
        for text, words in (("passage", saliency.passage), ("question", saliency.question)):
            assert "".join(word.before + word.word for word in words) == RECORD[text]
            assert sum(word.score for word in words) == pytest.approx(1.0)
            assert min(word.score for word in words) >= 0
        assert saliency == find_saliency(predictor, RECORD, method)

    @pytest.mark.parametrize("method", METHODS)
    def test_cloze_questions(self, tiny_cloze_archive: Path, method: str) -> None:
        predictor = Predictor.from_path(tiny_cloze_archive)
        assert isinstance(predictor, ClozePredictor)
        record = {"question": QUESTION, "passage": ARTICLE}
        saliency = find_saliency(predictor, record, method)
        assert saliency.answer == predictor.predict_json(record)["best_entity"]
        assert [word.word for word in saliency.passage] == ARTICLE.split()
        assert [word.word for word in saliency.question] == QUESTION.split()
        for words in (saliency.passage, saliency.question):
            assert sum(word.score for word in words) == pytest.approx(1.0)

    def test_without_an_entity_there_is_nothing_to_explain(self, tiny_cloze_archive: Path) -> None:
        predictor = Predictor.from_path(tiny_cloze_archive)
        with pytest.raises(DataError, match="no entity"):
            find_saliency(predictor, {"question": QUESTION, "passage": "nobody came"})

    def test_where_there_is_no_choice_nothing_matters(self) -> None:
        record = {"question": "Who?", "passage": "Ada"}
        saliency = find_saliency(tiny_predictor(), record)
        assert [word.score for word in saliency.passage] == [0.0]

    def test_the_interpreters_are_registered_under_the_known_names(self) -> None:
        interpreter = SaliencyInterpreter.by_name("simple-gradient")
        assert interpreter.__module__.startswith("bidaf_plugin")


class TestSaliencyFiles:
    def test_text_and_page(self) -> None:
        record = {"question": f"Who {HOSTILE}?", "passage": f"It is {HOSTILE} Ada."}
        saliency = find_saliency(tiny_predictor(), record)
        assert "score" in format_saliency(saliency)
        page = Page(render_saliency(saliency, record["question"]))
        page.assert_loads_nothing()
        assert page.count("script") == 0
        assert page.texts["title"] == [record["question"]]
        assert [text for text in page.texts["span"] if text == "Ada"]
