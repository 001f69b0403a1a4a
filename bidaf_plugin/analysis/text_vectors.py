"""
The vectors of the words of many texts, in the two spaces that the paper looks into.
"""

from typing import Dict, Iterator, List, NamedTuple, Sequence

import numpy
import torch
from allennlp.common import Tqdm
from allennlp.data import Batch, Instance
from allennlp.nn import util

from bidaf_plugin.data.samplers import BidafBucketSampler
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
    Reads the "question" or the "passage" of each instance, long ones first. It holds the vectors of one
    batch at a time.
    """
    model, reader = predictor._model, predictor._dataset_reader
    # The sampler looks at these two fields.
    texts = [
        Instance(dict.fromkeys(("passage", "question"), instance[field_name]))
        for instance in instances
    ]
    sampler = BidafBucketSampler(_MAX_TOKENS, _MAX_TOKENS, shuffle=False)
    progress = Tqdm.tqdm(total=len(instances), desc=f"reading {field_name}s")
    for indices in sampler.get_batch_indices(texts):
        for index in indices:
            reader.apply_token_indexers(instances[index])
        batch = Batch([Instance({"text": texts[index]["passage"]}) for index in indices])
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


def one_per_passage(instances: Sequence[Instance]) -> List[Instance]:
    """One instance for each passage."""
    return list({id(instance["passage"]): instance for instance in instances}.values())


def words_of(instance: Instance, field_name: str) -> List[str]:
    return [token.text for token in instance[field_name].tokens]


def context_of(words: Sequence[str], index: int, width: int = 5) -> str:
    """A word with its neighbours, for people to read."""
    return " ".join(words[max(index - width, 0) : index + width + 1])
