from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.common.util import JsonDict
from allennlp.data import Batch, Instance
from allennlp.nn import util

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.data.tokenizers.text_tokens import character_offsets
from bidaf_plugin.modules.ensemble_rules import SpanDistribution
from bidaf_plugin.modules.output_layers.span_targets import IMPOSSIBLE_TOKEN
from bidaf_plugin.predictors.span_predictor import SpanPredictor

Offsets = Tuple[numpy.ndarray, numpy.ndarray]


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
        Records as `SpanPredictor` takes them, each with one passage.
    on_progress : `Callable[[int], object]`, optional
        Told the number of questions of each batch when it is done.
    """
    instances = predictor._batch_json_to_instances(list(questions))
    for instance in instances:
        _check_has_words(instance)
    offsets_of_passages: Dict[int, Offsets] = {}
    found: Dict[int, SpanDistribution] = {}
    for places in predictor.make_sampler().get_batch_indices(instances):
        batch = [instances[place] for place in places]
        output_dict = _run(predictor, batch)
        offsets = [_offsets(instance, offsets_of_passages) for instance in batch]
        limit = predictor._model._output_layer.decoder.max_answer_length
        distributions = _separate(output_dict, offsets, limit)
        found.update(zip(places, distributions, strict=True))
        if on_progress is not None:
            on_progress(len(places))
    return [found[place] for place in range(len(instances))]


def _check_has_words(instance: Instance) -> None:
    # What is text to one tokenizer may be nothing to another.
    for name in ("question", "passage"):
        if not len(instance[name]):
            text = instance["metadata"][name]
            raise DataError(f"one of the models finds no words in the {name} {text!r:.80}")


def _run(predictor: SpanPredictor, instances: List[Instance]) -> Dict[str, Any]:
    model = predictor._model
    for instance in instances:
        predictor._dataset_reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    tensors = util.move_to_device(batch.as_tensor_dict(), model._get_prediction_device())
    with torch.no_grad():
        # Without the gold answers, for which there would be a loss and a score.
        return model(tensors["question"], tensors["passage"], tensors["metadata"])


def _offsets(instance: Instance, known: Dict[int, Offsets]) -> Offsets:
    """Where the tokens of the passage are; one object for all questions on it."""
    tokens = instance["metadata"]["passage_tokens"]
    if id(tokens) not in known:
        starts, ends = (numpy.array(side, dtype=numpy.int32) for side in character_offsets(tokens))
        known[id(tokens)] = (starts, ends)
    return known[id(tokens)]


def _separate(
    output_dict: Dict[str, Any], offsets: Sequence[Offsets], max_answer_length: Optional[int]
) -> Iterator[SpanDistribution]:
    # Shape: (batch_size, passage_length) for both
    start_log_probs, end_log_probs = (
        output_dict[f"span_{side}_log_probs"].cpu().numpy() for side in ("start", "end")
    )
    no_answer_log_probs = output_dict.get("no_answer_log_probs")
    spans, confidences = output_dict["best_span"].tolist(), output_dict["confidence"].tolist()
    for row, (starts, ends) in enumerate(offsets):
        first, last = spans[row]
        yield SpanDistribution(
            starts,
            ends,
            # Copies, which do not keep the padding in memory.
            start_log_probs[row, : len(starts)].copy(),
            end_log_probs[row, : len(starts)].copy(),
            None if first == IMPOSSIBLE_TOKEN else (int(starts[first]), int(ends[last])),
            confidences[row],
            max_answer_length,
            None if no_answer_log_probs is None else tuple(no_answer_log_probs[row].tolist()),
        )
