"""
Actions that score files of predictions, compare them, and look at what is wrong in them.
"""

import argparse
import os
from typing import List, Optional, Sequence

from bidaf_plugin.commands.action import Action, add_output
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written, check_folder


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

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis import score_report
        from bidaf_plugin.analysis.files import read_gold_paragraphs, write_json

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
        paragraphs = read_gold_paragraphs(args.data)
        files = [
            score_report.score_file(paragraphs, path, probability_path, args.no_answer_threshold)
            for path, probability_path in zip(paths, probabilities, strict=True)
        ]
        differences = score_report.compare_files(*files) if len(files) == 2 else {}
        if args.json:
            write_json(args.json, score_report.report_as_json(args.data, files, differences))
        print(score_report.report_as_text(files, differences))


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
        add_output(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.comparison import as_text, compare
        from bidaf_plugin.analysis.comparison_files import write_comparison
        from bidaf_plugin.analysis.files import read_gold_paragraphs
        from bidaf_plugin.analysis.score_report import score_file

        names = system_names(args.predictions, args.names)
        check_folder(args.output)
        paragraphs = read_gold_paragraphs(args.data)
        systems = [score_file(paragraphs, path) for path in args.predictions]
        comparison = compare(dict(zip(names, systems, strict=True)))
        paths = write_comparison(comparison, args.data, args.output, args.score)
        print(as_text(comparison))
        print("\nwrote " + ", ".join(paths))


@Action.register("errors")
class Errors(Action):
    """
    Draw wrong answers to be sorted into the paper's six classes of errors, and count them.

    DATA is a SQuAD file, PREDICTIONS an official prediction file, {question id: answer}, or a file of
    n-best answers (.nbest.json); both may be gzipped. FOLDER gets a sample of the answers that are no exact match, each with its passage and the
    gold answers: errors.html to read and tick, which lets the filled sheet be downloaded, and
    errors.csv to be filled in a spreadsheet program instead. Answers that overlap with a gold answer
    are marked as having imprecise boundaries already. With --read, a filled sheet makes the paper's
    table, which names those who judged.

    Example: allennlp bidaf errors dev-v1.1.json predictions.json -n 50 --seed 1 -o errors
             allennlp bidaf errors --read errors-filled.csv
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("data", nargs="?", help="a SQuAD file with gold answers")
        parser.add_argument("predictions", nargs="?", help="{question id: answer}")
        parser.add_argument(
            "-n", "--num-answers", metavar="N", type=int, default=50, help="how many answers"
        )
        parser.add_argument(
            "--seed", metavar="S", type=int, default=0, help="another seed, other answers"
        )
        add_output(parser, help="where the sheet goes", required=False)
        parser.add_argument(
            "--read", metavar="FILLED.csv", help="a filled sheet to count, instead of all this"
        )

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis import wrong_answers
        from bidaf_plugin.analysis.files import read_answers, read_gold_paragraphs

        if args.read is not None:
            if args.data is not None or args.output is not None:
                raise DataError("--read counts a filled sheet and goes with nothing else")
            print(wrong_answers.error_table(wrong_answers.read_sheet(args.read)))
            return
        if args.data is None or args.predictions is None or args.output is None:
            raise DataError("needed are DATA, PREDICTIONS and -o FOLDER, or --read FILLED.csv")
        if args.num_answers < 1:
            raise DataError(f"-n must be at least 1, found {args.num_answers}")
        check_folder(args.output)
        paragraphs = read_gold_paragraphs(args.data)
        questions = wrong_answers.answered_questions(
            paragraphs, read_answers(args.predictions, paragraphs)
        )
        wrong = [question for question in questions if question.em < 1]
        if not wrong:
            raise DataError(
                f"{args.predictions}: there are no wrong answers among {len(questions):,}"
            )
        sample = wrong_answers.draw_sample(wrong, args.num_answers, args.seed)
        num_overlapping = sum(question.has_overlap for question in wrong)
        description = (
            f"{len(sample)} of the {len(wrong):,} wrong answers of "
            f"{os.path.basename(args.predictions)} to the questions of "
            f"{os.path.basename(args.data)}, drawn with seed {args.seed}"
        )
        paths = wrong_answers.write_sheet(sample, description, args.output)
        print(
            f"{len(wrong):,} of {len(questions):,} answers are wrong; {num_overlapping:,} of them "
            f"({100 * num_overlapping / len(wrong):.1f} %) overlap with a gold answer"
        )
        print(f"wrote {', '.join(paths)}: {len(sample)} answers")


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
