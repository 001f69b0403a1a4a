import argparse
import json
import os
import re
import sys
from collections import Counter
from math import log
from typing import Any, Dict, List

from bidaf_plugin.archives.packaged import PACKAGED
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.predictors import SpanPredictor

_CONFIG = "training_configs/bidaf_quickstart.jsonnet"
_WORD = re.compile(r"\w+")
# A name (capitalised words in a row) or a number.
_CANDIDATE = re.compile(r"[A-ZŁÉÖ]\w+(?: [A-ZŁÉÖ]\w+)*|\d[\d,.]*\d|\d")


@Action.register("quickstart")
class Quickstart(Action):
    """
    Train a small model on the embedded sample, and answer questions.

    Some are answered with the new model, others with the one that comes with the package. Takes a few
    minutes and downloads nothing; run it in the root of the repository. `make train` calls it.
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("serialization_dir", help="where the run goes; an old one is replaced")
        parser.add_argument("-n", "--num-questions", type=int, default=8, help="answers to show")

    def run(self, args: argparse.Namespace) -> None:
        # All of this is heavy and only needed here.
        from allennlp.commands.train import train_model_from_file

        from bidaf_plugin.analysis.files import read_gold_paragraphs
        from bidaf_plugin.archives import load_span_predictor
        from bidaf_plugin.training.metrics import SquadEmAndF1

        if not os.path.isfile(_CONFIG):
            raise DataError(f"{_CONFIG} is not here: run this in the root of the repository")
        print("Training on fixtures/squad/sample_train.json ...", flush=True)
        train_model_from_file(
            _CONFIG,
            args.serialization_dir,
            force=True,
            file_friendly_logging=not sys.stderr.isatty(),
        )
        archive = os.path.join(args.serialization_dir, "model.tar.gz")
        with open(os.path.join(args.serialization_dir, "metrics.json")) as file:
            metrics = json.load(file)
        items: List[Dict[str, Any]] = [
            {
                "question": question.text,
                "passage": paragraph.passage,
                "answers": [answer.text for answer in question.answers],
            }
            for paragraph in read_gold_paragraphs("fixtures/squad/sample_dev.json")
            for question in paragraph.questions
        ]
        baseline = SquadEmAndF1()
        baseline(
            [guess_by_shared_words(item["question"], item["passage"]) for item in items],
            [item["answers"] for item in items],
        )
        print(f"\nHeld-out paragraphs, {len(items)} questions:     EM     F1")
        _print_scores("word-overlap baseline", baseline.get_metric())
        _print_scores(
            "this model", {name: metrics[f"best_validation_{name}"] for name in ("em", "f1")}
        )
        step = max(len(items) // max(args.num_questions, 1), 1)
        _answer(load_span_predictor(archive, trust=True), items[::step][: args.num_questions])
        if PACKAGED.is_file():
            with open(PACKAGED.parent / "examples.jsonl", encoding="utf-8") as file:
                examples = [json.loads(line) for line in file]
            name = f"{PACKAGED.parent.name}/{PACKAGED.name}"
            print(f"\n{name}, trained on SQuAD, on {len(examples)} questions:")
            _answer(load_span_predictor(PACKAGED), examples)
        print(_NEXT_COMMANDS.format(archive=archive))


_NEXT_COMMANDS = """
What to try next (in this folder; `source .venv/bin/activate` once):
  allennlp bidaf ask 'Who built it?' 'The mill was built by Ada Orn in 1871.'
  allennlp bidaf serve                                                  (the same in the browser)
  allennlp predict {archive} pretrained/examples.jsonl
  allennlp evaluate {archive} fixtures/squad/sample_dev.json
  allennlp bidaf table training_configs/bidaf_squad.jsonnet
  allennlp train training_configs/bidaf_squad.jsonnet -s runs/squad     (the paper's model on SQuAD)"""


def _print_scores(name: str, scores: Dict[str, float]) -> None:
    print(f"  {name:<36}{scores['em']:6.1f} {scores['f1']:6.1f}")


def _answer(predictor: SpanPredictor, items: List[Dict[str, Any]]) -> None:
    """Prints the questions with their answers, beside the gold answers if there are any."""
    predictions = predictor.predict_batch_json(items)
    for item, prediction in zip(items, predictions, strict=True):
        gold = " / ".join(dict.fromkeys(item.get("answers", [])))
        remark = f"; gold: {gold}" if gold else ""
        confidence = f"confidence {prediction['confidence']:.2f}"
        print(f"\n  {item['question']}\n    {prediction['best_span_str']}   ({confidence}{remark})")


def guess_by_shared_words(question: str, passage: str) -> str:
    """
    What one gets without learning: the longest name or number, not in the question, of the sentence
    that shares most words with the question. A shared word counts the more the fewer sentences of
    the passage have it.
    """
    sentences = re.split(r"(?<=[.!?;]) ", passage)
    words_of = [set(_WORD.findall(sentence.lower())) for sentence in sentences]
    frequency = Counter(word for words in words_of for word in words)
    question_words = set(_WORD.findall(question.lower()))

    def overlap(index: int) -> float:
        return sum(
            log(1 + len(sentences) / frequency[word]) for word in words_of[index] & question_words
        )

    sentence = sentences[max(range(len(sentences)), key=overlap)]
    candidates = [text for text in _CANDIDATE.findall(sentence) if text not in question]
    return max(candidates, key=len, default=sentence)
