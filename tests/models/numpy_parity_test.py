"""
The plugin's network against the equations of the paper, which `tests/numpy_bidaf` has in plain
NumPy: one example at a time there, a padded batch here.
"""

from typing import Any, Dict, cast

import numpy
import pytest
import torch
from allennlp.data.fields import ArrayField

from tests.helpers import as_tensors
from tests.models.numpy_parity import (
    ENCODING_DIM,
    MAX_WORD_LENGTH,
    ROUNDING,
    SHIFTS,
    TOLERANCE,
    Examples,
    Probe,
    assert_close,
    assert_same_answers,
    make_model,
    run_numpy,
    run_plugin,
    to_numpy,
    to_text,
    words_of,
)
from tests.numpy_bidaf import Choices, NumpyBidaf


class TestNumpyParity:
    """The plugin equals the paper's equations to 1e-5."""

    def test_examples_cover_every_kind_of_word(self, examples: Examples) -> None:
        lengths = [
            (len(words_of(i, "passage")), len(words_of(i, "question"))) for i in examples.instances
        ]
        assert len({length for length, _ in lengths}) > 3
        assert len({length for _, length in lengths}) > 3
        assert min(length for length, _ in lengths) == 1
        assert min(length for _, length in lengths) == 1

        rows = make_model(examples).state_dict()["_text_field_embedder.token_embedder_tokens.rows"]
        unknown_word, unknown_character = (
            examples.vocab.get_token_index("@@UNKNOWN@@", namespace)
            for namespace in ("tokens", "token_characters")
        )
        for instances in (examples.instances, [examples.short]):
            texts = [to_text(i, "passage", examples.vocab) for i in instances]
            word_ids = {word_id for text in texts for word_id in text.word_ids}
            character_rows = [row for text in texts for row in text.character_ids]
            assert unknown_word in word_ids
            assert {bool(rows[i] < 0) for i in word_ids - {unknown_word}} == {True, False}
            assert {1, MAX_WORD_LENGTH} <= {len(row) for row in character_rows}
            assert any(unknown_character in row for row in character_rows)

    @pytest.mark.parametrize("end_input", ["authors_code", "paper_text"])
    @pytest.mark.parametrize("lstm", ["unpacked_lstm", "lstm"])
    def test_answers(self, examples: Examples, lstm: str, end_input: str) -> None:
        model = make_model(examples, lstm=lstm, end_input=end_input)
        network = NumpyBidaf(to_numpy(model), Choices(end_input=end_input))
        assert_same_answers(model, network, examples.instances)
        assert_same_answers(model.double(), network, examples.instances)

    @pytest.mark.parametrize("max_answer_length", [1, 3])
    def test_answers_of_limited_length(self, examples: Examples, max_answer_length: int) -> None:
        model = make_model(examples, max_answer_length=max_answer_length)
        network = NumpyBidaf(to_numpy(model))
        assert_same_answers(model, network, examples.instances, max_answer_length)

    def test_loss(self, examples: Examples) -> None:
        model = make_model(examples)
        network = NumpyBidaf(to_numpy(model))
        losses = []
        for instance in examples.instances:
            expected = run_numpy(network, instance, model.vocab)
            first, last = cast(ArrayField, instance["answer_spans"]).array[0]
            losses.append(-numpy.log(expected["p1"][first]) - numpy.log(expected["p2"][last]))
        loss = model(**as_tensors(examples.instances, model.vocab))["loss"].detach()
        assert_close(loss, sum(losses) / len(losses))

    @pytest.mark.parametrize("end_input", ["authors_code", "paper_text"])
    def test_no_answer(self, examples: Examples, end_input: str) -> None:
        model = make_model(examples, no_answer=True, end_input=end_input)
        choices = Choices(no_answer=True, end_input=end_input)
        network = NumpyBidaf(to_numpy(model), choices)
        outputs = run_plugin(model, examples.instances)
        losses = []
        for i, instance in enumerate(examples.instances):
            expected = run_numpy(network, instance, model.vocab)
            length = len(expected["p1"]) - 1
            assert_close(outputs["span_start_log_probs"][i, :length].exp(), expected["p1"][:-1])
            assert_close(outputs["span_end_log_probs"][i, :length].exp(), expected["p2"][:-1])
            none = expected["p1"][-1] * expected["p2"][-1]
            assert_close(outputs["no_answer_probability"][i], none)
            losses.append(-numpy.log(none))
        tensors = as_tensors(examples.instances, model.vocab)
        tensors["answer_spans"][:] = -2
        assert_close(model(**tensors)["loss"].detach(), sum(losses) / len(losses))

    @pytest.mark.parametrize("sign", [1, -1])
    @pytest.mark.parametrize("lstm", ["unpacked_lstm", "lstm"])
    def test_what_flows_between_the_layers(self, examples: Examples, lstm: str, sign: int) -> None:
        model = make_model(examples, lstm=lstm)
        # With one of the signs, padding is more similar to the passage than the question of one word
        # is: it would show if padding took part in the maximum over the question.
        assert model._attention is not None
        with torch.no_grad():
            model._attention._similarity.get_parameter("_weight_vector").mul_(sign)
        network = NumpyBidaf(to_numpy(model))
        for outputs in (
            run_plugin(model, examples.instances),
            run_plugin(model.double(), examples.instances),
        ):
            for i, instance in enumerate(examples.instances):
                expected = run_numpy(network, instance, model.vocab)
                passage_length, question_length = expected["S"].shape
                for name in ("H", "b", "G", "M"):
                    assert_close(outputs[name][i, :passage_length], expected[name])
                assert_close(outputs["U"][i, :question_length], expected["U"])
                for name in ("S", "a"):
                    assert_close(
                        outputs[name][i, :passage_length, :question_length], expected[name]
                    )
                # Padding gets no attention.
                assert not outputs["a"][i, :passage_length, question_length:].any()
                assert not outputs["b"][i, passage_length:].any()

    @pytest.mark.parametrize(
        ("name", "similarity"),
        [
            ("dot_product", {"type": "dot_product"}),
            (
                "linear",
                {
                    "type": "linear",
                    "combination": "x,y",
                    "tensor_1_dim": ENCODING_DIM,
                    "tensor_2_dim": ENCODING_DIM,
                },
            ),
            (
                "bilinear",
                {"type": "bilinear", "matrix_1_dim": ENCODING_DIM, "matrix_2_dim": ENCODING_DIM},
            ),
        ],
    )
    def test_similarities_of_the_appendix(
        self, examples: Examples, name: str, similarity: Dict[str, Any]
    ) -> None:
        model = make_model(examples, similarity)
        network = NumpyBidaf(to_numpy(model), Choices(similarity=name))
        assert_same_answers(model, network, examples.instances)

    @pytest.mark.parametrize("end_input", ["authors_code", "paper_text"])
    def test_every_parameter_matters(self, examples: Examples, end_input: str) -> None:
        """
        No parameter is ignored on NumPy's side: each changes a probability by more than the tolerance.
        So does, if only by more than rounding, what a layer does with each single element of its
        input, and each single element of a bias.
        """
        probe = Probe(examples, Choices(end_input=end_input))
        for name in probe.state:
            if name.endswith(".rows"):  # not numbers but the places of the word vectors
                continue
            changes = probe.change_per_column(name)
            if name in SHIFTS:
                assert max(changes) < ROUNDING, name
            else:
                assert max(changes) > TOLERANCE, name
                assert min(changes) > ROUNDING, (name, numpy.argmin(changes))

        name = "_attention._similarity._bias"
        shifted = probe.run({**probe.state, name: probe.state[name] + 3})
        numpy.testing.assert_allclose(shifted["S"], probe.before["S"] + 3)

    @pytest.mark.parametrize("end_input", ["authors_code", "paper_text"])
    def test_every_term_matters(self, examples: Examples, end_input: str) -> None:
        """
        The comparisons above would notice if one term of `alpha`, of `beta` or of `[G; M; a; M * a]`
        were missing from what a layer reads.
        """
        probe = Probe(examples, Choices(end_input=end_input))
        num_terms_at_end = 7 if end_input == "authors_code" else 1
        num_terms = {
            "_attention._similarity._weight_vector": 3,
            "_modeling_layer._forward_lstms.0.weight_ih_l0": 4,
            "_modeling_layer._backward_lstms.0.weight_ih_l0": 4,
            "_output_layer._start_scorer.weight": 5,
            "_output_layer._end_encoder._forward_lstms.0.weight_ih_l0": num_terms_at_end,
            "_output_layer._end_encoder._backward_lstms.0.weight_ih_l0": num_terms_at_end,
            "_output_layer._end_scorer.weight": 5,
        }
        for name, number in num_terms.items():
            assert probe.state[name].shape[-1] == number * ENCODING_DIM
            for term in range(number):
                changed = probe.state[name].copy()
                changed[..., term * ENCODING_DIM : (term + 1) * ENCODING_DIM] = 0
                assert probe.change(name, changed) > 10 * TOLERANCE, (name, term)
