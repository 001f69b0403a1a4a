"""
The cloze model against the paper in plain NumPy: windows, masks and summed probabilities, from the text
of the `.question` files.
"""

import re
import tarfile
from pathlib import Path
from random import Random
from typing import Any, Dict, List, Optional, Tuple

import numpy
import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Instance, Vocabulary

from tests.cloze_helpers import TINY_CLOZE, read_cloze, tiny_cloze_params
from tests.helpers import REAL_DATA, as_tensors, build_model, needs_real_data
from tests.numpy_bidaf import (
    NumpyBidaf,
    Text,
    entity_probabilities,
    is_entity,
    split_into_windows,
)

TOLERANCE = 1e-5
MAX_WORD_LENGTH = 16
WINDOWS: List[Optional[int]] = [19, None]


def make_model(params: Dict[str, Any], instances: List[Instance]) -> Any:
    """A model whose parameters are large enough to show."""
    model = build_model(params, instances)
    generator = numpy.random.RandomState(2)
    with torch.no_grad():
        for parameter in model.parameters():
            values = generator.normal(scale=0.5, size=tuple(parameter.shape))
            parameter.copy_(torch.from_numpy(values))
    return model


def choose_window(window: Optional[int]) -> str:
    return f"window:: {'null' if window is None else window}"


class NumpyReader:
    """
    What the model sees of words. The vectors that entities have been given are taken from the tensors of
    the plugin: which ones is chance, but they must be those of entities, and different ones.
    """

    def __init__(self, vocab: Vocabulary, words: List[str], indices: List[int]) -> None:
        self._vocab = vocab
        self.index_of: Dict[str, int] = {}
        for word, index in zip(words, indices, strict=True):
            if is_entity(word):
                assert self.index_of.setdefault(word, index) == index
                name = vocab.get_token_from_index(index)
                assert re.fullmatch(r"@@ENTITY\d+@@", name)
        assert len(set(self.index_of.values())) == len(self.index_of)

    def to_text(self, words: List[str]) -> Text:
        # All entities have the same characters.
        spelled = ["@entity" if is_entity(word) else word for word in words]
        return Text(
            [self._to_index(word) for word in words],
            [
                [self._vocab.get_token_index(c, "token_characters") for c in word[:MAX_WORD_LENGTH]]
                for word in spelled
            ],
        )

    def _to_index(self, word: str) -> int:
        if word == "@placeholder":
            return self._vocab.get_token_index("@@PLACEHOLDER@@")
        return self.index_of[word] if is_entity(word) else self._vocab.get_token_index(word)


def assert_same_as_numpy(
    model: Any, instances: List[Instance], files: Dict[str, str], window: Optional[int]
) -> None:
    """For a padded batch."""
    tensors = as_tensors(instances, model.vocab)
    with torch.no_grad():
        outputs = model(**tensors)
    predictions = model.make_output_human_readable(dict(outputs))
    network = NumpyBidaf({name: value.numpy() for name, value in model.state_dict().items()})
    for number, instance in enumerate(instances):
        lines = files[instance["metadata"]["id"]].split("\n")
        article, question = lines[2].split(), lines[4].split()
        windows = split_into_windows(article, window)
        passage_ids = tensors["passage"]["tokens"]["tokens"][number]
        words = [*question, *(word for words in windows for word in words)]
        indices = tensors["question"]["tokens"]["tokens"][number, : len(question)].tolist()
        for row, window_words in zip(passage_ids.tolist(), windows, strict=False):
            indices += row[: len(window_words)]
        reader = NumpyReader(model.vocab, words, indices)
        query = reader.to_text(question)
        scores = [network.score_words(reader.to_text(words), query) for words in windows]
        word_probabilities, probabilities = entity_probabilities(windows, scores)

        actual = outputs["word_probs"][number].double().numpy()
        expected = numpy.zeros_like(actual)
        for row, values in enumerate(word_probabilities):
            expected[row, : len(values)] = values
        numpy.testing.assert_allclose(actual, expected, rtol=0, atol=TOLERANCE)
        assert to_probabilities(predictions["candidates"][number]) == pytest.approx(
            probabilities, rel=0, abs=TOLERANCE
        )
        best = max(probabilities, key=lambda entity: probabilities[entity])
        assert predictions["best_entity"][number] == best
        assert predictions["confidence"][number] == pytest.approx(probabilities[best], abs=1e-5)


def to_probabilities(candidates: List[Dict[str, Any]]) -> Dict[str, float]:
    return {candidate["entity"]: candidate["probability"] for candidate in candidates}


@pytest.mark.parametrize("window", [*WINDOWS, 5])
def test_tiny_articles(window: Optional[int]) -> None:
    params = tiny_cloze_params(choose_window(window))
    instances = read_cloze(params)
    files = {path.stem: path.read_text(encoding="utf-8") for path in TINY_CLOZE.iterdir()}
    assert_same_as_numpy(make_model(params, instances), instances, files, window)


@needs_real_data
class TestRealArticles:
    @staticmethod
    def read(params: Dict[str, Any], count: int) -> Tuple[List[Instance], Dict[str, str]]:
        """The first questions of the Daily Mail on different articles, and their files."""
        assert REAL_DATA is not None
        path = REAL_DATA / "cloze" / "questions.tar.gz"
        files: Dict[str, str] = {}
        with tarfile.open(path) as archive:
            for member in archive:
                if "dailymail/questions/test/" in member.name and member.isfile():
                    file = archive.extractfile(member)
                    assert file is not None
                    files[Path(member.name).stem] = file.read().decode("utf-8")
        instances: Dict[str, Instance] = {}
        for instance in read_cloze(params, Path(f"{path}!dailymail/questions/test")):
            instances.setdefault(instance["metadata"]["passage"], instance)
        return list(instances.values())[:count], files

    @pytest.mark.parametrize("window", WINDOWS)
    def test_articles_of_the_daily_mail(self, window: Optional[int]) -> None:
        params = tiny_cloze_params(f"{choose_window(window)}, num_entities:: 600")
        instances, files = self.read(params, 2)
        assert_same_as_numpy(make_model(params, instances), instances, files, window)

    @pytest.mark.parametrize("window", WINDOWS)
    def test_renaming_entities_changes_no_prediction(self, window: Optional[int]) -> None:
        params = tiny_cloze_params(f"{choose_window(window)}, num_entities:: 600")
        (instance,), _ = self.read(params, 1)
        model = make_model(params, [instance])
        reader = DatasetReader.from_params(Params(params["validation_dataset_reader"]))
        metadata = instance["metadata"]
        texts = metadata["question"], metadata["passage"]
        expected = to_probabilities(model.forward_on_instance(instance)["candidates"])
        assert max(expected.values()) - min(expected.values()) > 0.01
        entities = sorted(set(re.findall(r"@entity\d+", " ".join(texts))))
        generator = Random(1)
        for _ in range(20):
            numbers = generator.sample(range(1000), len(entities))
            name_of = {e: f"@entity{n}" for e, n in zip(entities, numbers, strict=True)}
            question, passage = (
                re.sub(r"@entity\d+", lambda match: name_of[match.group()], text)  # noqa: B023
                for text in texts
            )
            other = reader.text_to_instance(question, passage)
            reader.apply_token_indexers(other)
            renamed = to_probabilities(model.forward_on_instance(other)["candidates"])
            actual = {entity: renamed[name_of[entity]] for entity in expected}
            assert actual == pytest.approx(expected, rel=0, abs=1e-6)
