"""
How good several models are together, by their number; from their n-best answers alone.
"""

import os
import random
from itertools import combinations
from math import comb
from statistics import mean
from typing import Any, List, NamedTuple, Sequence, Tuple

from allennlp.common import Tqdm

from bidaf_plugin.analysis.answering import combine_nbest
from bidaf_plugin.analysis.figures import draw_curves, new_figure, save_figure
from bidaf_plugin.analysis.files import passages_of, questions_of, read_nbest
from bidaf_plugin.analysis.formats import write_csv
from bidaf_plugin.analysis.scores import mean_em, mean_f1, score_questions
from bidaf_plugin.data.dataset_readers.squad_json import Paragraph

# Of all ways to choose so many of the models, so many are tried.
_MAX_CHOICES = 10


class SizeScore(NamedTuple):
    """What so many models reach by a rule: means over choices of models, in percent."""

    rule: str
    num_models: int
    num_choices: int
    em: float
    f1: float


def score_by_number(
    paths: Sequence[str], paragraphs: Sequence[Paragraph], rules: Sequence[str], seed: int = 0
) -> List[SizeScore]:
    """The scores of one model, two, three, up to all of them, with progress."""
    passages, questions = passages_of(paragraphs), questions_of(paragraphs)
    members = [read_nbest(path) for path in paths]
    generator = random.Random(seed)
    scores = []
    for size in Tqdm.tqdm(range(1, len(members) + 1), desc="numbers of models"):
        choices = _choose(len(members), size, generator)
        for rule in rules:
            of_choices = []
            for choice in choices:
                answers = {
                    id: combine_nbest(
                        rule, [members[i][id] for i in choice if id in members[i]], passage
                    )
                    for id, passage in passages.items()
                }
                scored = score_questions(questions, answers)
                of_choices.append((mean_em(scored), mean_f1(scored)))
            em, f1 = map(mean, zip(*of_choices, strict=True))
            scores.append(SizeScore(rule, size, len(choices), em, f1))
    return scores


def _choose(number: int, size: int, generator: random.Random) -> List[Tuple[int, ...]]:
    """All ways to choose, or some that are drawn."""
    if comb(number, size) <= _MAX_CHOICES:
        return list(combinations(range(number), size))
    drawn: List[Tuple[int, ...]] = []
    while len(drawn) < _MAX_CHOICES:
        choice = tuple(sorted(generator.sample(range(number), size)))
        if choice not in drawn:
            drawn.append(choice)
    return drawn


def write_sizes(scores: Sequence[SizeScore], folder: str) -> List[str]:
    """Writes models.csv, .png and .svg, and returns their paths."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "models")
    rows: List[Sequence[Any]] = [SizeScore._fields, *scores]
    write_csv(f"{path}.csv", rows)
    figure = new_figure(8, 3.2)
    for axes, name, label in zip(figure.subplots(1, 2), ("em", "f1"), ("EM", "F1"), strict=True):
        rules = dict.fromkeys(score.rule for score in scores)
        curves = {
            rule: [(s.num_models, getattr(s, name)) for s in scores if s.rule == rule]
            for rule in rules
        }
        draw_curves(axes, curves)
        axes.set_xlabel("models")
        axes.set_ylabel(f"{label}, percent")
        axes.legend(frameon=False, loc="lower right")
    return [f"{path}.csv", *save_figure(figure, path)]
