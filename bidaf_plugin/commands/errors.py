import argparse
import os

from overrides import overrides

from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError


@Action.register("errors")
class Errors(Action):
    """
    Draw wrong answers to be sorted into the paper's six classes of errors, and count them.

    DATA is a SQuAD file, PREDICTIONS an official prediction file, {question id: answer}; both may be
    gzipped. FOLDER gets a sample of the answers that are no exact match, each with its passage and the
    gold answers: errors.html to read and tick, which lets the filled sheet be downloaded, and
    errors.csv to be filled in a spreadsheet program instead. Answers that overlap with a gold answer
    are marked as having imprecise boundaries already. With --read, a filled sheet makes the paper's
    table.

    Example: allennlp bidaf errors dev-v1.1.json predictions.json -n 50 --seed 1 -o errors
             allennlp bidaf errors --read errors-filled.csv
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("data", nargs="?", help="a SQuAD file with gold answers")
        parser.add_argument("predictions", nargs="?", help="{question id: answer}")
        parser.add_argument(
            "-n", "--num-answers", metavar="N", type=int, default=50, help="how many answers"
        )
        parser.add_argument(
            "--seed", metavar="S", type=int, default=0, help="another seed, other answers"
        )
        parser.add_argument("-o", "--output", metavar="FOLDER", help="where the sheet goes")
        parser.add_argument(
            "--read", metavar="FILLED.csv", help="a filled sheet to count, instead of all this"
        )

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.error_sheet import error_table, read_sheet

        if args.read is not None:
            if args.data is not None or args.output is not None:
                raise DataError("--read counts a filled sheet and goes with nothing else")
            print(error_table(read_sheet(args.read)))
        elif args.data is None or args.predictions is None or args.output is None:
            raise DataError("needed are DATA, PREDICTIONS and -o FOLDER, or --read FILLED.csv")
        elif args.num_answers < 1:
            raise DataError(f"-n must be at least 1, found {args.num_answers}")
        else:
            write_sheet(args.data, args.predictions, args.num_answers, args.seed, args.output)


def write_sheet(data: str, predictions: str, num_answers: int, seed: int, folder: str) -> None:
    """Draws the sample, writes the sheet and says so."""
    from bidaf_plugin.analysis.error_sheet import COLUMNS, sheet_as_html, sheet_rows
    from bidaf_plugin.analysis.prediction_files import read_predictions
    from bidaf_plugin.analysis.squad_files import read_gold_paragraphs
    from bidaf_plugin.analysis.tables import write_csv
    from bidaf_plugin.analysis.wrong_answers import answered_questions, draw_sample
    from bidaf_plugin.common.files import write_atomically
    from bidaf_plugin.common.folders import check_folder

    check_folder(folder)
    questions = answered_questions(read_gold_paragraphs(data), read_predictions(predictions))
    wrong = [question for question in questions if question.em < 1]
    if not wrong:
        raise DataError(f"{predictions}: there are no wrong answers among {len(questions):,}")
    sample = draw_sample(wrong, num_answers, seed)
    num_overlapping = sum(question.has_overlap for question in wrong)
    description = (
        f"{len(sample)} of the {len(wrong):,} wrong answers of {os.path.basename(predictions)} "
        f"to the questions of {os.path.basename(data)}, drawn with seed {seed}"
    )
    os.makedirs(folder, exist_ok=True)
    paths = [os.path.join(folder, "errors.html"), os.path.join(folder, "errors.csv")]
    write_atomically(paths[0], sheet_as_html(sample, "Error analysis", description))
    rows = [list(row.values()) for row in sheet_rows(sample)]
    write_csv(paths[1], [COLUMNS, *rows], for_spreadsheets=True)
    print(
        f"{len(wrong):,} of {len(questions):,} answers are wrong; {num_overlapping:,} of them "
        f"({100 * num_overlapping / len(wrong):.1f} %) overlap with a gold answer"
    )
    print(f"wrote {', '.join(paths)}: {len(sample)} answers")
