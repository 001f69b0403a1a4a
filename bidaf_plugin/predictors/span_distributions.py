from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple

import numpy
import torch
from allennlp.common.util import JsonDict
from allennlp.data import Batch, Instance
from allennlp.nn import util

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.dataset_readers.token_spans import character_offsets
from bidaf_plugin.modules.ensemble_rules import SpanDistribution
from bidaf_plugin.predictors.span_predictor import SpanPredictor

Offsets = Tuple[numpy.ndarray, numpy.ndarray]


def find_distributions(
    predictor: SpanPredictor,
    questions: Sequence[JsonDict],
    on_progress: Optional[Callable[[int], object]] = None,
) -> List[SpanDistribution]:
    """
    What a model says about questions, in their order and in little memory: eight bytes per token and
    question, and eight per token of a passage.

    # Parameters

    predictor : `SpanPredictor`
        The model, with the reader that goes with it.
    questions : `Sequence[JsonDict]`
        Records as `SpanPredictor` takes them.
    on_progress : `Callable[[int], object]`, optional
        Told the number of questions of each batch when it is done.
    """
    instances = predictor._batch_json_to_instances(list(questions))
    for instance in instances:
        _check_has_words(instance)
    offsets_of_passages: Dict[int, Offsets] = {}
    found: Dict[int, SpanDistribution] = {}
    for places in predictor.batch_places(instances):
        batch = [instances[place] for place in places]
        distributions = _distributions_of_batch(predictor, batch, offsets_of_passages)
        found.update(zip(places, distributions, strict=True))
        if on_progress is not None:
            on_progress(len(places))
    return [found[place] for place in range(len(instances))]


def _check_has_words(instance: Instance) -> None:
    # What is text to one tokenizer may be nothing to another.
    for name in ("question", "passage"):
        if not len(instance.fields[name]):  # type: ignore[arg-type]
            text = instance["metadata"][name]
            raise DataError(f"one of the models finds no words in the {name} {text!r:.80}")


def _distributions_of_batch(
    predictor: SpanPredictor, instances: List[Instance], offsets_of_passages: Dict[int, Offsets]
) -> Iterator[SpanDistribution]:
    model = predictor._model
    for instance in instances:
        predictor._dataset_reader.apply_token_indexers(instance)
    batch = Batch(instances)
    batch.index_instances(model.vocab)
    tensors = util.move_to_device(batch.as_tensor_dict(), model._get_prediction_device())
    with torch.no_grad():
        # Without the gold answers, for which there would be a loss and a score.
        output = model(tensors["question"], tensors["passage"], tensors["metadata"])
    # Shape: (batch_size, passage_length) for both
    start_log_probs = output["span_start_log_probs"].cpu().numpy()
    end_log_probs = output["span_end_log_probs"].cpu().numpy()
    no_answer = output.get("no_answer_probability")
    for row, (instance, span, confidence) in enumerate(
        zip(instances, output["best_span"].tolist(), output["confidence"].tolist(), strict=True)
    ):
        starts, ends = _offsets(instance, offsets_of_passages)
        yield SpanDistribution(
            starts,
            ends,
            # Copies, which do not keep the padding in memory.
            start_log_probs[row, : len(starts)].copy(),
            end_log_probs[row, : len(starts)].copy(),
            (int(starts[span[0]]), int(ends[span[1]])),
            confidence,
            model._output_layer.max_answer_length,
            None if no_answer is None else float(no_answer[row]),
        )


def _offsets(instance: Instance, known: Dict[int, Offsets]) -> Offsets:
    """Where the tokens of the passage are; one object for all questions on it."""
    tokens = instance["metadata"]["passage_tokens"]
    if id(tokens) not in known:
        starts, ends = (numpy.array(side, dtype=numpy.int32) for side in character_offsets(tokens))
        known[id(tokens)] = (starts, ends)
    return known[id(tokens)]
