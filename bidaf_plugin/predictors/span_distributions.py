from typing import Callable, Dict, List, Optional, Sequence, Tuple

import numpy
from allennlp.common.util import JsonDict
from allennlp.data import Instance

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.modules.ensemble_rules import SpanDistribution
from bidaf_plugin.modules.output_layers.span_targets import IMPOSSIBLE_TOKEN
from bidaf_plugin.predictors.span_predictor import SpanPredictor
from bidaf_plugin.runtime.records import Record

Offsets = Tuple[numpy.ndarray, numpy.ndarray]

# What is needed of the output of a model; the last only of those that know that there is no answer.
_NAMES = (
    "span_start_log_probs",
    "span_end_log_probs",
    "best_span",
    "confidence",
    "no_answer_log_probs",
)


def find_distributions(
    predictor: SpanPredictor,
    questions: Sequence[JsonDict],
    on_progress: Optional[Callable[[int], object]] = None,
) -> List[SpanDistribution]:
    """
    What a model says about questions, in their order and in little memory: eight bytes per token and
    question, and eight per token of a passage. Passages are read as a whole, however long.

    # Parameters

    predictor : `SpanPredictor`
        The model, with the reader that goes with it.
    questions : `Sequence[JsonDict]`
        Of files that have been checked, each with `question`, one `passage` and maybe an `id`.
    on_progress : `Callable[[int], object]`, optional
        Told the number of questions of each batch when it is done.
    """
    questions_on_passages = predictor.read_questions(
        [Record(item["question"], [item["passage"]], item.get("id")) for item in questions]
    )
    instances = [question.instances[0] for question in questions_on_passages]
    for instance in instances:
        _check_has_words(instance)
    max_answer_length = predictor._model._output_layer.decoder.max_answer_length
    # By the tokens of a passage: one object for all questions on it.
    offsets: Dict[int, Offsets] = {}
    found: Dict[int, SpanDistribution] = {}
    for indices in predictor.make_sampler().get_batch_indices(instances):
        output_dict = predictor.run_model([instances[index] for index in indices])
        arrays = {name: output_dict[name].cpu().numpy() for name in _NAMES if name in output_dict}
        for row, index in enumerate(indices):
            tokens = instances[index]["metadata"]["passage_tokens"]
            if id(tokens) not in offsets:
                starts, ends = numpy.array(character_offsets(tokens), dtype=numpy.int32)
                offsets[id(tokens)] = starts, ends
            of_question = {name: array[row] for name, array in arrays.items()}
            found[index] = _make_distribution(of_question, offsets[id(tokens)], max_answer_length)
        if on_progress is not None:
            on_progress(len(indices))
    return [found[index] for index in range(len(instances))]


def _check_has_words(instance: Instance) -> None:
    # What is text to one tokenizer may be nothing to another.
    for name in ("question", "passage"):
        if not len(instance[name]):
            text = instance["metadata"][name]
            raise DataError(f"one of the models finds no words in the {name} {text!r:.80}")


def _make_distribution(
    output: Dict[str, numpy.ndarray], offsets: Offsets, max_answer_length: Optional[int]
) -> SpanDistribution:
    starts, ends = offsets
    first, last = output["best_span"].tolist()
    no_answer_log_probs = output.get("no_answer_log_probs")
    return SpanDistribution(
        starts,
        ends,
        # Copies, which do not keep the padding in memory.
        output["span_start_log_probs"][: len(starts)].copy(),
        output["span_end_log_probs"][: len(starts)].copy(),
        None if first == IMPOSSIBLE_TOKEN else (int(starts[first]), int(ends[last])),
        float(output["confidence"]),
        max_answer_length,
        None if no_answer_log_probs is None else tuple(no_answer_log_probs.tolist()),
    )
