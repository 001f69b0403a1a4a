"""Tests of the embedded sample data and of the script that writes it."""

import importlib.util
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

FIXTURES = Path(__file__).resolve().parent.parent / "fixtures"


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The generator script, loaded as a module: ``fixtures`` is not a package."""
    specification = importlib.util.spec_from_file_location(
        "make_sample", FIXTURES / "make_sample.py"
    )
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def read(label: str) -> dict[str, Any]:
    """The data set on disk."""
    text = (FIXTURES / "squad" / f"sample_{label}.json").read_text(encoding="utf-8")
    dataset: dict[str, Any] = json.loads(text)
    return dataset


def paragraphs(dataset: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """All paragraphs of all articles."""
    for article in dataset["data"]:
        yield from article["paragraphs"]


class TestSample:
    """The quick-start sample in ``fixtures/squad``."""

    def test_files_are_what_the_generator_writes(self, generator: ModuleType) -> None:
        for label, split in zip(("train", "dev"), generator.make_sample(), strict=True):
            written = (FIXTURES / "squad" / f"sample_{label}.json").read_bytes()
            assert written == generator.serialise(split.dataset).encode("utf-8")

    @pytest.mark.parametrize("label", ["train", "dev"])
    def test_offsets_cut_out_the_answers(self, label: str) -> None:
        for paragraph in paragraphs(read(label)):
            for question in paragraph["qas"]:
                assert question["answers"]
                for answer in question["answers"]:
                    start, text = answer["answer_start"], answer["text"]
                    assert text
                    assert paragraph["context"][start : start + len(text)] == text

    def test_number_of_gold_answers(self) -> None:
        counts = {
            label: {
                len(question["answers"]) for p in paragraphs(read(label)) for question in p["qas"]
            }
            for label in ("train", "dev")
        }
        assert counts == {"train": {1}, "dev": {1, 2, 3}}

    def test_ids_are_unique(self) -> None:
        identifiers = [
            question["id"]
            for label in ("train", "dev")
            for paragraph in paragraphs(read(label))
            for question in paragraph["qas"]
        ]
        assert len(identifiers) == len(set(identifiers))

    def test_dev_names_do_not_occur_in_train(self, generator: ModuleType) -> None:
        train, dev = generator.make_sample()
        train_text = "\n".join(paragraph["context"] for paragraph in paragraphs(read("train")))
        dev_contexts = [paragraph["context"] for paragraph in paragraphs(read("dev"))]
        assert len(dev.main_names) == len(dev_contexts)
        for name, context in zip(dev.main_names, dev_contexts, strict=True):
            assert name in context
            assert name not in train_text
        assert not dev.name_words & set(re.findall(r"\w+", train_text))

    def test_size(self) -> None:
        questions = {
            label: sum(len(paragraph["qas"]) for paragraph in paragraphs(read(label)))
            for label in ("train", "dev")
        }
        assert questions["train"] >= 1500
        assert questions["dev"] >= 200

    def test_held_out_question_wordings_stay_out_of_train(self, generator: ModuleType) -> None:
        held_out = [
            wording
            for topic in generator.read_topics(generator.TEMPLATES)
            for fact in topic.facts
            for wording in fact.dev_questions
        ]
        assert held_out
        train_questions = [q["question"] for p in paragraphs(read("train")) for q in p["qas"]]
        for wording in held_out:
            before, after = wording.split("{name}")
            assert not any(
                question.startswith(before) and question.endswith(after)
                for question in train_questions
            )


class TestV2Sample:
    """The sample in the format of SQuAD 2.0."""

    def test_the_file_is_what_the_generator_writes(self, generator: ModuleType) -> None:
        written = (FIXTURES / "squad" / "sample_v2.json").read_bytes()
        assert written == generator.serialise(generator.make_v2_sample().dataset).encode("utf-8")

    def test_has_questions_of_both_kinds(self) -> None:
        dataset = read("v2")
        assert dataset["version"] == "v2.0"
        questions = [question for p in paragraphs(dataset) for question in p["qas"]]
        impossible = [question for question in questions if question["is_impossible"]]
        assert 0.2 < len(impossible) / len(questions) < 0.5
        for question in questions:
            assert bool(question["answers"]) != question["is_impossible"]
            assert ("plausible_answers" in question) == question["is_impossible"]
        assert len({question["id"] for question in questions}) == len(questions)
