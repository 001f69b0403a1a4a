"""
Actions that score files of predictions.
"""

import argparse
import os
from typing import List, Optional, Sequence

from overrides import overrides

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_folder


@Action.register("score")
class Score(Action):
    """
    Score one or two prediction files as the official scripts do, with a breakdown.

    DATA is a SQuAD file, PREDICTIONS an official prediction file, {question id: answer}; both may be
    gzipped. EM and F1 are those of the official script of SQuAD 1.1, or of SQuAD 2.0 if some of the
    questions have no answer. Questions without a prediction count as wrong. With two prediction
    files, a paired bootstrap tells whether the difference means anything.

    Example: allennlp bidaf score dev-v1.1.json predictions.json
             allennlp bidaf score dev-v1.1.json predictions.json others.json --json scores.json
             allennlp bidaf score dev-v2.0.json predictions.json \\
                 --na-probabilities predictions.na_prob.json
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("data", help="a SQuAD file with gold answers")
        parser.add_argument("predictions", help="{question id: answer}")
        parser.add_argument("other", nargs="?", help="predictions to compare with")
        parser.add_argument(
            "--na-probabilities",
            metavar="FILE",
            action="append",
            default=[],
            help="no-answer probabilities, {question id: probability}, for SQuAD 2.0: finds the best "
            "thresholds; with two prediction files give it twice, in their order",
        )
        parser.add_argument(
            "--no-answer-threshold",
            metavar="T",
            type=float,
            default=1.0,
            help="count a question as answered with '' if its no-answer probability is above T "
            "(default = 1.0: never)",
        )
        parser.add_argument(
            "--json", metavar="OUT", help="write all of it as JSON, with all digits"
        )

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.prediction_files import write_json
        from bidaf_plugin.analysis.score_report import (
            compare_files,
            report_as_json,
            report_as_text,
            score_file,
        )
        from bidaf_plugin.analysis.squad_files import read_gold_questions
        from bidaf_plugin.common.folders import check_can_be_written

        paths = [path for path in (args.predictions, args.other) if path is not None]
        probabilities = args.na_probabilities or [None] * len(paths)
        if len(probabilities) != len(paths):
            raise DataError(
                f"--na-probabilities is there {len(probabilities)} times, for {len(paths)} "
                "prediction files"
            )
        if args.no_answer_threshold != 1.0 and not args.na_probabilities:
            raise DataError("--no-answer-threshold needs --na-probabilities")
        if args.json:
            check_can_be_written(args.json)
        questions = read_gold_questions(args.data)
        files = [
            score_file(questions, path, probability_path, args.no_answer_threshold)
            for path, probability_path in zip(paths, probabilities, strict=True)
        ]
        differences = compare_files(files[0], files[1]) if len(files) == 2 else {}
        if args.json:
            write_json(args.json, report_as_json(args.data, files, differences))
        print(report_as_text(files, differences))


@Action.register("compare")
class Compare(Action):
    """
    Compare two or three systems question by question: the paper's Figures 2b and 2c.

    DATA is a SQuAD file, PREDICTIONS are official prediction files, {question id: answer}, or files of
    n-best answers (.nbest.json); all may be gzipped. FOLDER gets a Venn diagram of the questions that are answered correctly (venn), the scores
    by the 10 most frequent first words of questions (first_words), both as PNG, SVG and CSV, the
    agreement of each two systems with tests of significance (agreement.csv), what each system answers
    to each question (questions.csv), and all numbers in comparison.json. A question is answered
    correctly if it is an exact match; one without a prediction is not.

    Example: allennlp bidaf compare dev-v1.1.json baseline.json predictions.json -o comparison
             allennlp bidaf compare dev-v1.1.json a.json b.json c.json --names Baseline BiDAF R-Net \\
                 --score f1 -o comparison
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("data", help="a SQuAD file with gold answers")
        parser.add_argument(
            "predictions", nargs="+", help="two or three files, {question id: answer}"
        )
        parser.add_argument(
            "--names",
            nargs="+",
            metavar="NAME",
            help="what the systems are called (default: the names of their files)",
        )
        parser.add_argument(
            "--score",
            choices=("em", "f1"),
            default="em",
            help="what the bars of first_words show; the tables have both",
        )
        parser.add_argument(
            "-o", "--output", metavar="FOLDER", required=True, help="where the files go"
        )

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.comparison import compare
        from bidaf_plugin.analysis.comparison_report import as_text, write_comparison
        from bidaf_plugin.analysis.score_report import score_file
        from bidaf_plugin.analysis.squad_files import (
            passages_of,
            questions_of,
            read_gold_paragraphs,
        )

        names = system_names(args.predictions, args.names)
        check_folder(args.output)
        paragraphs = read_gold_paragraphs(args.data)
        questions = questions_of(paragraphs)
        passages = passages_of(paragraphs)
        systems = [score_file(questions, path, passages=passages) for path in args.predictions]
        comparison = compare(dict(zip(names, systems, strict=True)))
        paths = write_comparison(comparison, args.data, args.output, args.score)
        print(as_text(comparison))
        print("\nwrote " + ", ".join(paths))


def system_names(paths: Sequence[str], names: Optional[Sequence[str]] = None) -> List[str]:
    """The names that are given, or else those of the files without their extensions."""
    if not 2 <= len(paths) <= 3:
        raise DataError(f"two or three prediction files can be compared, not {len(paths)}")
    if names is None:
        names = [os.path.basename(path).removesuffix(".gz").removesuffix(".json") for path in paths]
    if len(names) != len(paths):
        raise DataError(f"--names has {len(names)} names for {len(paths)} prediction files")
    if len(set(names)) < len(names) or not all(name.strip() for name in names):
        raise DataError(
            f"each system needs a name of its own, found {', '.join(map(repr, names))}: use --names"
        )
    return list(names)
