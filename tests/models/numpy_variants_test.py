"""
Every file of `training_configs/variants` that is of the paper against its counterpart in NumPy, as in
`numpy_parity_test.py`.
"""

from pathlib import Path
from typing import List

import numpy
import pytest
from allennlp.common import Params
from allennlp.data import DatasetReader, Instance

from tests.helpers import ROOT
from tests.models.numpy_parity import (
    ROUNDING,
    SHIFTING_FIRST_TERM,
    SHIFTS,
    TOLERANCE,
    Examples,
    Probe,
    assert_close,
    assert_same_answers,
    make_model,
    make_params,
    run_numpy,
    run_plugin,
    to_numpy,
)
from tests.numpy_bidaf import Choices, NumpyBidaf

# What later work brought has no counterpart in NumPy, which is of the paper.
LATER = {
    "exact_match",
    "projection",
    "self_attention_inside",
    "tuned_question_words",
    "variational_dropout",
}
VARIANT_PATHS = [
    path
    for path in sorted((ROOT / "training_configs" / "variants").glob("*.jsonnet"))
    if path.stem not in LATER
]
# What each file of training_configs/variants is in NumPy.
VARIANTS = {
    "alpha_bilinear": Choices(similarity="bilinear"),
    "alpha_dot": Choices(similarity="dot_product"),
    "alpha_linear": Choices(similarity="linear"),
    "alpha_linear_after_mlp": Choices(similarity="linear_after_mlp"),
    "beta_mlp": Choices(fusion="mlp"),
    "bidaf": Choices(),
    "dynamic_attention": Choices(attention="dynamic"),
    "end_layer_as_in_the_text": Choices(end_input="paper_text"),
    "no_c2q_attention": Choices(use_context_to_query=False),
    "no_char_embedding": Choices(use_character_embedding=False),
    "no_highway": Choices(num_highway_layers=0),
    "no_q2c_attention": Choices(use_query_to_context=False),
    "no_word_embedding": Choices(use_word_embedding=False),
    "self_attention": Choices(use_self_attention=True),
    "two_hops": Choices(num_hops=2),
}


def read_again(examples: Examples, config: str) -> List[Instance]:
    """The same questions as a reader of this config makes them."""
    params = make_params(examples.vectors_path, config)["validation_dataset_reader"]
    reader = DatasetReader.from_params(Params(params))
    instances = []
    for instance in examples.instances:
        metadata = instance["metadata"]
        again = reader.text_to_instance(metadata["question"], metadata["passage"])
        reader.apply_token_indexers(again)
        instances.append(again)
    return instances


@pytest.mark.parametrize("path", VARIANT_PATHS, ids=lambda path: path.stem)
class TestNumpyVariants:
    """The same for every file of training_configs/variants."""

    def test_answers(self, examples: Examples, path: Path) -> None:
        assert path.stem in VARIANTS, "this variant has no counterpart in NumPy"
        config = f"variants/{path.name}"
        instances = read_again(examples, config)
        model = make_model(examples, config=config)
        network = NumpyBidaf(to_numpy(model), VARIANTS[path.stem])
        assert_same_answers(model, network, instances)
        assert_same_answers(model.double(), network, instances)

    def test_what_flows_between_the_layers(self, examples: Examples, path: Path) -> None:
        config = f"variants/{path.name}"
        instances = read_again(examples, config)
        model = make_model(examples, config=config).double()
        network = NumpyBidaf(to_numpy(model), VARIANTS[path.stem])
        outputs = run_plugin(model, instances)
        for i, instance in enumerate(instances):
            expected = run_numpy(network, instance, model.vocab)
            passage_length, question_length = len(expected["H"]), len(expected["U"])
            for name in ("H", "U", "S", "a", "b", "G", "M"):
                if name not in expected:
                    assert outputs.get(name) is None
                elif name == "U":
                    assert_close(outputs[name][i, :question_length], expected[name])
                elif name in ("S", "a"):
                    actual = outputs[name][i, :passage_length, :question_length]
                    assert_close(actual, expected[name])
                else:
                    assert_close(outputs[name][i, :passage_length], expected[name])

    def test_every_parameter_matters(self, examples: Examples, path: Path) -> None:
        """
        No parameter is ignored on NumPy's side: each changes a probability by more than the tolerance.
        So does, if only by more than rounding, each column of those that the paper's model lacks.
        """
        probe = Probe(examples, VARIANTS[path.stem], f"variants/{path.name}")
        well_probed = set(make_model(examples).state_dict())
        generator = numpy.random.RandomState(4)
        for name, value in probe.state.items():
            if name.endswith(".rows"):  # not numbers but the places of the word vectors
                continue
            change = probe.change(name, generator.normal(size=value.shape))
            if name in SHIFTS:
                assert change < ROUNDING, name
                continue
            assert change > TOLERANCE, name
            if name == SHIFTING_FIRST_TERM.get(path.stem):
                changes = probe.change_per_column(name)
                num_shifting = len(changes) // 3
                assert max(changes[:num_shifting]) < ROUNDING, name
                assert min(changes[num_shifting:]) > ROUNDING, name
            elif name not in well_probed:
                changes = probe.change_per_column(name)
                assert min(changes) > ROUNDING, (name, numpy.argmin(changes))


def test_every_counterpart_has_a_variant() -> None:
    assert sorted(VARIANTS) == [path.stem for path in VARIANT_PATHS]
