"""
What the comparisons with NumPy share: examples, models whose parameters all show, and both networks run.
"""

import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Dict, List, Optional, cast

import _jsonnet
import numpy
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Instance, Vocabulary
from allennlp.data.fields import TextField
from allennlp.models import Model
from allennlp.modules.seq2seq_encoders import ComposeEncoder
from numpy.typing import NDArray

from bidaf_plugin.data.dataset_readers.squad_json import GoldAnswer
from bidaf_plugin.data.dataset_readers.squad_reader import BidafSquadReader
from bidaf_plugin.models.attention_flow import AttentionFlow
from tests.helpers import FIXTURES, ROOT, as_tensors
from tests.numpy_bidaf import Array, Choices, NumpyBidaf, Text, best_span

TOLERANCE = 1e-5
ROUNDING = 1e-12
MAX_WORD_LENGTH = 16  # the reader's, in characters
WORD_DIM = 7
ENCODING_DIM = 12  # 2d
# No two sizes of the network are equal, derived ones included, so that mixed-up axes are noticed:
# 3, 4, 6 (d), 7, 10, 12 (2d), 17, 24 (4d), 34, 36 (6d), 48 (8d), 60 (10d), 84 (14d).
SIZES = {
    "character_dim": 3,
    "filter_width": 4,
    "hidden_size": ENCODING_DIM // 2,
    "word_dim": WORD_DIM,
    "num_filters": 10,
}
# The spread of the parameters: the first fragment that is in the name of a parameter counts. With
# equal ones the attention would be so flat that a missing term changes no probability by 1e-5; larger
# ones saturate the LSTMs. See test_every_term_matters.
SCALES = {
    "embedding": 0.8,
    "trained": 0.8,
    "_attention": 2.0,
    "_scorer": 2.0,
    "encoder0": 0.2,  # self-attention
    "": 0.4,
}
# Softmax does not see what is added to all of its inputs, so these change no probability.
SHIFTS = {
    "_attention._similarity._bias",
    "_output_layer._start_scorer.bias",
    "_output_layer._end_scorer.bias",
    "_modeling_layer.encoder0._similarity._bias",  # of self-attention
}
# So does the first term of `w^T [h; u; h * u]` where the similarities of one `h` meet in a softmax only.
SHIFTING_FIRST_TERM = {
    "no_q2c_attention": "_attention._similarity._weight_vector",
    "self_attention": "_modeling_layer.encoder0._similarity._weight_vector",
}
# ReLU hides features of words from the layers above, unless their biases are raised a little.
FEATURE_BIASES = (
    "_text_field_embedder.token_embedder_token_characters._encoder._module._convolution.bias",
    "_modeling_layer.encoder0._reduction.bias",  # self-attention
)


@dataclass
class Examples:
    """
    Questions with a vocabulary in which some words have a fixed vector, some a trained one, and some
    words and characters are unknown.

    short : `Instance`
        One of `instances`, with a few words only.
    """

    vocab: Vocabulary
    instances: List[Instance]
    short: Instance
    vectors_path: Path


def make_params(
    vectors_path: Path, config: str = "bidaf_squad.jsonnet", **choices: Any
) -> Dict[str, Any]:
    """
    The experiment of a file of training_configs, by default the paper's, with `choices` and in the
    sizes of this test, as far as it has them.
    """
    choices = {
        "glove": str(vectors_path),
        "min_word_count": 3,
        "min_character_count": 3,
        **SIZES,
        **choices,
    }
    snippet = f"""
        local config = import '{ROOT}/training_configs/{config}';
        local choices = {json.dumps(choices)};
        std.foldl(
          function(changed, name) changed {{ [name]:: choices[name] }},
          [name for name in std.objectFields(choices) if !std.objectHas(config.idle_choices, name)],
          config
        )"""
    params: Dict[str, Any] = json.loads(_jsonnet.evaluate_snippet("parity", snippet))
    return params


def make_examples(vectors_path: Path) -> Examples:
    params = make_params(vectors_path)
    reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
    assert isinstance(reader, BidafSquadReader)
    read = list(islice(reader.read(FIXTURES / "squad" / "sample_dev.json"), 40))
    # Questions and passages of different lengths: the first question of each passage, and the
    # extremes, words longer than the characters that are read and words of one character included.
    first_of_passage = {
        tuple(words_of(instance, "passage")): instance for instance in reversed(read)
    }
    short = reader.text_to_instance(
        "Who is it?", "It is Q the incomprehensibilities of A.", answers=[GoldAnswer("Q", 6)]
    )
    one_word_passage = reader.text_to_instance(
        "Where, if not here, can a lighthouse stand?", "Here", answers=[GoldAnswer("Here", 0)]
    )
    one_word_question = reader.text_to_instance(
        "Why",
        "It left the harbour, for the lamp was never lit.",
        answers=[GoldAnswer("the lamp", 25)],
    )
    for instance in (short, one_word_passage, one_word_question):
        reader.apply_token_indexers(instance)
    instances = [one_word_passage, *list(first_of_passage.values())[-4:], short, one_word_question]

    words = sorted({word.lower() for i in read + instances for word in words_of(i, "passage")})
    generator = numpy.random.RandomState(1)
    vectors_path.write_text(
        "".join(
            " ".join([word, *(f"{number:.4f}" for number in generator.normal(size=WORD_DIM))])
            + "\n"
            for word in words[::2]
        ),
        encoding="utf-8",
    )
    vocab = Vocabulary.from_params(Params(params["vocabulary"]), instances=read + instances)
    return Examples(vocab, instances, short, vectors_path)


def make_model(
    examples: Examples,
    similarity: Optional[Dict[str, Any]] = None,
    config: str = "bidaf_squad.jsonnet",
    **choices: Any,
) -> AttentionFlow:
    """
    A model in evaluation mode whose parameters are all large enough to show.

    similarity : `Dict[str, Any]`, optional
        An `alpha` in place of the paper's.
    config : `str`
        A file of training_configs.
    """
    params = make_params(examples.vectors_path, config, **choices)["model"]
    if similarity is not None:
        params["attention"]["similarity"] = similarity
    model = Model.from_params(vocab=examples.vocab, params=Params(params))
    assert isinstance(model, AttentionFlow)
    generator = numpy.random.RandomState(3)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            scale = next(scale for fragment, scale in SCALES.items() if fragment in name)
            values = generator.normal(scale=scale, size=tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(values))
    return model.eval()


def words_of(instance: Instance, field: str) -> List[str]:
    return [token.ensure_text() for token in cast(TextField, instance[field]).tokens]


def to_numpy(model: AttentionFlow) -> Dict[str, NDArray]:
    return {name: value.numpy() for name, value in model.state_dict().items()}


def to_text(instance: Instance, field: str, vocab: Vocabulary) -> Text:
    """The ids of the words and characters of a text, without the plugin's indexers and padding."""
    tokens = words_of(instance, field)
    return Text(
        word_ids=[vocab.get_token_index(token.lower(), "tokens") for token in tokens],
        character_ids=[
            [
                vocab.get_token_index(character, "token_characters")
                for character in token[:MAX_WORD_LENGTH]
            ]
            for token in tokens
        ],
    )


def run_numpy(network: NumpyBidaf, instance: Instance, vocab: Vocabulary) -> Dict[str, Array]:
    return network.run(to_text(instance, "passage", vocab), to_text(instance, "question", vocab))


def run_plugin(model: AttentionFlow, instances: List[Instance]) -> Dict[str, torch.Tensor]:
    """The outputs for one padded batch, and what flows between the layers under the paper's names."""
    tensors = as_tensors(instances, model.vocab)
    tensors.pop("answer_spans", None)
    flow: Dict[str, torch.Tensor] = {}

    def keep_attention(module: torch.nn.Module, inputs: Any, output: Any) -> None:
        flow["H"], _, flow["U"], _ = inputs
        flow["G"] = output.query_aware_passage
        flow["a"] = output.passage_question_attention
        flow["b"] = output.question_passage_attention

    def keep_similarity(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> None:
        flow["S"] = output

    def keep_modeled(module: torch.nn.Module, inputs: Any, output: torch.Tensor) -> None:
        flow["M"] = output
        if model._attention is None:  # the layer attends itself
            flow["H"], _, flow["U"], _ = inputs
            flow["G"] = flow["H"]

    modeling_layer = model._modeling_layer
    if isinstance(modeling_layer, ComposeEncoder):  # whose encoders are called one after the other
        *_, modeling_layer = modeling_layer.encoders
    hooks = [modeling_layer.register_forward_hook(keep_modeled)]
    if model._attention is not None:
        hooks += [
            model._attention.register_forward_hook(keep_attention),
            model._attention._similarity.register_forward_hook(keep_similarity),
        ]
    with torch.no_grad():
        outputs = model(**tensors)
    for hook in hooks:
        hook.remove()
    return {**flow, **outputs}


def assert_close(actual: torch.Tensor, expected: Any) -> None:
    numpy.testing.assert_allclose(actual.double().numpy(), expected, rtol=0, atol=TOLERANCE)


def assert_same_answers(
    model: AttentionFlow,
    network: NumpyBidaf,
    instances: List[Instance],
    max_length: Optional[int] = None,
) -> None:
    """
    The plugin gives the same `p1`, `p2`, best span and confidence to a batch as NumPy to each of its
    examples, and nothing to padding.
    """
    outputs = run_plugin(model, instances)
    start_log_probs, end_log_probs = outputs["span_start_log_probs"], outputs["span_end_log_probs"]
    for i, instance in enumerate(instances):
        expected = run_numpy(network, instance, model.vocab)
        length = len(expected["p1"])
        for log_probs, name in ((start_log_probs[i], "p1"), (end_log_probs[i], "p2")):
            assert_close(log_probs[:length].exp(), expected[name])
            if next(model.parameters()).dtype == torch.float64:
                # Here small probabilities count as much as large ones.
                assert_close(log_probs[:length], numpy.log(expected[name]))
            assert not log_probs[length:].exp().any()
        first, last, confidence = best_span(expected["p1"], expected["p2"], max_length)
        assert outputs["best_span"][i].tolist() == [first, last]
        assert_close(outputs["confidence"][i], confidence)


class Probe:
    """The NumPy network on the short example, before and after a change of its parameters."""

    def __init__(
        self, examples: Examples, choices: Choices, config: str = "bidaf_squad.jsonnet"
    ) -> None:
        self._choices = choices
        self._context = to_text(examples.short, "passage", examples.vocab)
        self._query = to_text(examples.short, "question", examples.vocab)
        model = make_model(examples, config=config, end_input=choices.end_input).double()
        self.state = to_numpy(model)
        for name in FEATURE_BIASES:
            if name in self.state:
                self.state[name] = self.state[name] + 1
        self.before = self.run(self.state)

    def run(self, state: Dict[str, NDArray]) -> Dict[str, Array]:
        return NumpyBidaf(state, self._choices).run(self._context, self._query)

    def change(self, name: str, value: NDArray) -> float:
        """By how much `p1` or `p2` changes at most if the parameter `name` is `value`."""
        after = self.run({**self.state, name: value})
        return max(abs(after[p] - self.before[p]).max() for p in ("p1", "p2"))

    def change_per_column(self, name: str) -> List[float]:
        """The same for each column of the parameter, raised by 10."""
        value = self.state[name]
        num_columns = value[0].size if value.ndim > 1 else len(value)
        changes = []
        for column in range(num_columns):
            changed = value.copy()
            changed.reshape(-1, num_columns)[:, column] += 10
            changes.append(self.change(name, changed))
        return changes
