"""Tests of the embedded cloze questions and of the script that writes them."""

import importlib.util
import tarfile
from collections import Counter
from types import ModuleType

import pytest

from tests.cloze_helpers import CLOZE_SAMPLE, read
from tests.helpers import FIXTURES


def load_script(name: str) -> ModuleType:
    """A script as a module: ``fixtures`` is not a package."""
    specification = importlib.util.spec_from_file_location(name, FIXTURES / f"{name}.py")
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


class TestClozeSample:
    def test_the_archive_is_what_the_generator_writes(self) -> None:
        written = {}
        with tarfile.open(CLOZE_SAMPLE) as archive:
            for member in archive:
                file = archive.extractfile(member)
                assert file is not None
                written[member.name] = file.read().decode("utf-8")
        assert written == load_script("make_cloze_sample").make_sample()

    @pytest.mark.parametrize("split, count", [("training", 900), ("validation", 100)])
    def test_all_questions_can_be_used(self, split: str, count: int) -> None:
        instances = read(f"{CLOZE_SAMPLE}!sample/questions/{split}")
        assert len(instances) == count
        for instance in instances:
            names = instance["metadata"]["candidate_names"]
            assert all(names) and len(set(names)) == len(names)

    def test_the_most_frequent_entity_is_seldom_right(self) -> None:
        num_right = 0
        instances = read(f"{CLOZE_SAMPLE}!sample/questions/validation")
        for instance in instances:
            counts = Counter(word for word in instance["metadata"]["passage"].split())
            best = max(instance["metadata"]["candidates"], key=counts.__getitem__)
            num_right += best == instance["metadata"]["answer"]
        assert num_right < len(instances) / 3

    def test_articles_of_the_splits_differ(self) -> None:
        articles = [
            {instance["metadata"]["passage"] for instance in read(f"{CLOZE_SAMPLE}!{folder}")}
            for folder in ("sample/questions/training", "sample/questions/validation")
        ]
        assert not articles[0] & articles[1]
