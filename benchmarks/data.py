"""
The SQuAD questions that are measured on, and how they are put into batches: once, for both systems.
"""

import gzip
import json
from itertools import groupby
from pathlib import Path
from random import Random
from typing import Any, Callable, Collection, Dict, List, NamedTuple

Squad = Dict[str, Any]
Batch = List[str]

# As AllenNLP's bucket sampler has it: lengths are taken for up to so much more or less than they are.
PADDING_NOISE = 0.1


class Question(NamedTuple):
    """
    # Parameters

    id : `str`
    paragraph : `int`
        The number of its paragraph in the file.
    num_words : `int`
        Of the paragraph, between blanks: a length that favours neither tokenizer.
    """

    id: str
    paragraph: int
    num_words: int


def load_squad(path: Path) -> Squad:
    opener: Callable[..., Any] = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return json.load(file)


def list_questions(squad: Squad) -> List[Question]:
    paragraphs = [paragraph for article in squad["data"] for paragraph in article["paragraphs"]]
    return [
        Question(question["id"], number, len(paragraph["context"].split()))
        for number, paragraph in enumerate(paragraphs)
        for question in paragraph["qas"]
    ]


def excerpt(squad: Squad, ids: Collection[str]) -> Squad:
    """Only these questions, with their paragraphs, in the order of the file."""
    wanted = frozenset(ids)
    articles = []
    for article in squad["data"]:
        paragraphs = []
        for paragraph in article["paragraphs"]:
            questions = [question for question in paragraph["qas"] if question["id"] in wanted]
            if questions:
                paragraphs.append({**paragraph, "qas": questions})
        if paragraphs:
            articles.append({**article, "paragraphs": paragraphs})
    return {**squad, "data": articles}


def limit(squad: Squad, num_questions: int, random: Random) -> Squad:
    """About so many questions, of whole paragraphs taken at random."""
    paragraphs = [list(group) for _, group in groupby(list_questions(squad), lambda q: q.paragraph)]
    random.shuffle(paragraphs)
    ids: List[str] = []
    for paragraph in paragraphs:
        if len(ids) >= num_questions:
            break
        ids += [question.id for question in paragraph]
    return excerpt(squad, ids)


def json_lines(squad: Squad, ids: Collection[str]) -> List[str]:
    """The input of `allennlp predict`, in the order of `ids`."""
    line_of_id = {
        question["id"]: json.dumps(
            {
                "id": question["id"],
                "question": question["question"],
                "passage": paragraph["context"],
            }
        )
        for article in excerpt(squad, ids)["data"]
        for paragraph in article["paragraphs"]
        for question in paragraph["qas"]
    }
    return [line_of_id[id_] for id_ in ids]


def bucketed_batches(questions: List[Question], batch_size: int, random: Random) -> List[Batch]:
    """All batches, from short to long, as a sampler by length makes them: any questions together."""
    return _cut(sorted(questions, key=_noisy_length(random)), batch_size)


def grouped_batches(questions: List[Question], batch_size: int, random: Random) -> List[Batch]:
    """The same with the questions of a paragraph one after the other."""
    paragraphs = [list(group) for _, group in groupby(questions, lambda item: item.paragraph)]
    noisy_length = _noisy_length(random)
    paragraphs.sort(key=lambda paragraph: noisy_length(paragraph[0]))
    return _cut([question for paragraph in paragraphs for question in paragraph], batch_size)


def _noisy_length(random: Random) -> Callable[[Question], float]:
    return lambda question: question.num_words * random.uniform(
        1 - PADDING_NOISE, 1 + PADDING_NOISE
    )


def _cut(questions: List[Question], batch_size: int) -> List[Batch]:
    """Full batches only, unless there is not even one."""
    batches = split([question.id for question in questions], batch_size)
    return [batch for batch in batches if len(batch) == batch_size] or batches


def split(ids: List[str], size: int) -> List[Batch]:
    return [ids[start : start + size] for start in range(0, len(ids), size)]


def spread(batches: List[Batch], number: int) -> List[Batch]:
    """`number` batches at even distances, so that their lengths stand for those of all."""
    number = min(number, len(batches))
    return [batches[(2 * place + 1) * len(batches) // (2 * number)] for place in range(number)]


def sorted_by_length(questions: List[Question]) -> List[str]:
    """Ids from short to long paragraphs, the questions of a paragraph together."""
    ordered = sorted(questions, key=lambda question: (question.num_words, question.paragraph))
    return [question.id for question in ordered]


def deal(ids: List[str], num_parts: int, block_size: int) -> List[List[str]]:
    """
    Parts of about the same mixture of lengths: blocks are dealt out like cards. Their size is a
    multiple of the batch sizes, so that a batch has no more padding than in the whole.
    """
    blocks = split(ids, block_size)
    parts = [
        [id_ for block in blocks[part::num_parts] for id_ in block] for part in range(num_parts)
    ]
    return [part for part in parts if part]
