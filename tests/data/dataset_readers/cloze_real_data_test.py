import random
import re
import tarfile
from pathlib import Path
from typing import Dict, List, Set, Tuple

import numpy
import pytest
import torch
from allennlp.data import Vocabulary

from bidaf_plugin.data.dataset_readers import BidafClozeReader
from bidaf_plugin.data.token_indexers import ClozeWordsIndexer, WordCharactersIndexer
from tests.cloze_helpers import candidate_of_each_word, window_words
from tests.helpers import REAL_DATA, as_tensors, needs_real_data


def renamed(text: str, name_of: Dict[str, str]) -> str:
    return re.sub(r"@entity\d+", lambda match: name_of[match.group()], text)


@needs_real_data
class TestRealArticles:
    """Against an independent count by regular expressions and NumPy."""

    @staticmethod
    def count(text: str, window: int) -> Tuple[List[List[str]], Set[str]]:
        article = text.split("\n")[2]
        words = numpy.array(article.split(" "))
        is_entity = numpy.array([bool(re.match(r"^@entity\d+$", word)) for word in words])
        windows = [
            [words[i] for i in range(p - window // 2, p + window // 2 + 1) if 0 <= i < len(words)]
            for p in numpy.flatnonzero(is_entity)
        ]
        return windows, set(words[is_entity])

    @pytest.mark.parametrize("split", ["training", "validation", "test"])
    def test_windows_of_the_daily_mail(self, split: str) -> None:
        assert REAL_DATA is not None
        path = REAL_DATA / "cloze" / "questions.tar.gz"
        texts = {}
        with tarfile.open(path) as archive:
            for member in archive:
                if f"dailymail/questions/{split}/" in member.name and member.isfile():
                    file = archive.extractfile(member)
                    assert file is not None
                    texts[Path(member.name).stem] = file.read().decode("utf-8")
        num_read = num_windows = 0
        for instance in BidafClozeReader().read(f"{path}!dailymail/questions/{split}"):
            text = texts[instance["metadata"]["id"]]
            windows, entities = self.count(text, 19)
            assert window_words(instance) == windows
            assert set(instance["metadata"]["candidates"]) == entities
            for words, candidates in zip(windows, candidate_of_each_word(instance), strict=True):
                expected = [word if re.match(r"^@entity\d+$", word) else "-" for word in words]
                assert candidates == expected + ["-"] * (len(candidates) - len(words))
            assert instance["metadata"]["answer"] == text.split("\n")[6]
            num_read += 1
            num_windows += len(windows)
        assert num_read == len(texts)
        print(f"{split}: {num_read} questions, {num_windows / num_read:.1f} windows each")

    def test_renaming_entities_changes_nothing(self) -> None:
        assert REAL_DATA is not None
        path = f"{REAL_DATA}/cloze/questions.tar.gz!dailymail/questions/test"
        indexers = {"tokens": ClozeWordsIndexer(), "chars": WordCharactersIndexer()}
        reader = BidafClozeReader(token_indexers=indexers)
        instance = next(iter(reader.read(path)))
        vocab = Vocabulary.from_instances([instance])
        metadata = instance["metadata"].metadata
        question = metadata["question"]
        passage = metadata["passage"]
        generator = random.Random(1)
        first = None
        for _ in range(20):
            entities = sorted(set(re.findall(r"@entity\d+", question + " " + passage)))
            numbers = generator.sample(range(1000), len(entities))
            name_of = dict(zip(entities, (f"@entity{n}" for n in numbers), strict=True))
            other = reader.text_to_instance(renamed(question, name_of), renamed(passage, name_of))
            reader.apply_token_indexers(other)
            assert other["metadata"]["candidates"] == [name_of[e] for e in metadata["candidates"]]
            tensors = as_tensors([other], vocab)
            flat = torch.cat(
                [
                    tensor.flatten()
                    for field in ("question", "passage")
                    for tensor in (
                        tensors[field]["tokens"]["tokens"],
                        tensors[field]["chars"]["token_characters"],
                    )
                ]
                + [tensors["entity_ids"].flatten()]
            )
            first = flat if first is None else first
            assert torch.equal(first, flat)

    @pytest.mark.parametrize("split, count", [("training", 14_018), ("validation", 932)])
    def test_squad_cloze(self, split: str, count: int) -> None:
        assert REAL_DATA is not None
        path = f"{REAL_DATA}/cloze/squad_cloze.tar.gz!squad_cloze/questions/{split}"
        num_read = num_words = num_candidates = 0
        for instance in BidafClozeReader().read(path):
            num_read += 1
            num_words += len(instance["passage"])
            num_candidates += len(instance["metadata"]["candidates"])
        assert num_read == count
        # What the notes on the data say: about 142 words and 10.7 names a paragraph.
        print(f"{split}: {num_words / num_read:.1f} words, {num_candidates / num_read:.1f} names")
        assert 130 < num_words / num_read < 155
        assert 10 < num_candidates / num_read < 11.5
