"""
The vectors of the words of many texts, in the two spaces that the paper looks into.
"""

from typing import Dict, Iterator, List, NamedTuple, Sequence

import numpy
import torch
from allennlp.common import Tqdm
from allennlp.data import Batch, Instance
from allennlp.nn import util

from bidaf_plugin.nn.exact_match import mark_alone
from bidaf_plugin.predictors import SpanPredictor

# The names of the spaces: what the word embedding layer gives (with characters and highway network),
# and what the contextual layer gives.
SPACES = ("word", "contextual")
# Words with padding that are read together, at most.
_MAX_TOKENS = 8_000


class TextVectors(NamedTuple):
    """
    number : `int`
        Which of the texts it is.
    vectors : `Dict[str, numpy.ndarray]`
        For each of `SPACES` the vectors of the words, of length 1; shape `(num_words, dim)`.
    """

    number: int
    vectors: Dict[str, numpy.ndarray]


def iterate_vectors(
    predictor: SpanPredictor, instances: Sequence[Instance], field_name: str
) -> Iterator[TextVectors]:
    """
    Reads one text of each instance, short ones first. It holds the vectors of one batch at a time.

    # Parameters

    predictor : `SpanPredictor`
    instances : `Sequence[Instance]`
    field_name : `str`
        "question" or "passage".
    """
    model, reader = predictor._model, predictor._dataset_reader
    progress = Tqdm.tqdm(total=len(instances), desc=f"reading {field_name}s")
    for indices in _make_batches([len(instance[field_name]) for instance in instances]):
        for index in indices:
            reader.apply_token_indexers(instances[index])
        batch = Batch([Instance({"text": instances[index][field_name]}) for index in indices])
        batch.index_instances(model.vocab)
        tensors = util.move_to_device(batch.as_tensor_dict(), predictor.cuda_device)
        with torch.no_grad():
            (embedded,) = model.embed(mark_alone(tensors["text"]))
            encoded = model.contextualize(embedded)
        lengths = embedded.mask.sum(dim=1).tolist()
        spaces = [
            torch.nn.functional.normalize(vectors, dim=-1).cpu().numpy()
            for vectors in (embedded.vectors, encoded)
        ]
        for row, (index, length) in enumerate(zip(indices, lengths, strict=True)):
            of_text = (vectors[row, :length] for vectors in spaces)
            yield TextVectors(index, dict(zip(SPACES, of_text, strict=True)))
        progress.update(len(indices))
    progress.close()


def _make_batches(lengths: Sequence[int]) -> Iterator[List[int]]:
    """Texts of similar length together, by their places."""
    batch: List[int] = []
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        if batch and lengths[index] * (len(batch) + 1) > _MAX_TOKENS:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


def distinct_passages(instances: Sequence[Instance]) -> List[Instance]:
    """One instance for each passage."""
    return list({id(instance["passage"]): instance for instance in instances}.values())


def words_of(instance: Instance, field_name: str) -> List[str]:
    return [token.text for token in instance[field_name].tokens]


def context_of(words: Sequence[str], place: int, width: int = 5) -> str:
    """A word with its neighbours, for people to read."""
    return " ".join(words[max(place - width, 0) : place + width + 1])
