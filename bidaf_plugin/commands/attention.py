import argparse
import os

from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option
from bidaf_plugin.commands.action import Action
from bidaf_plugin.commands.asked_questions import add_question_arguments, asked_questions
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_folder


@Action.register("attention")
class Attention(Action):
    """
    Show which words of a passage and of a question attend to each other: the paper's Figure 3.

    FOLDER gets five files for each question, named by its id: a picture (.png and .svg) of the matrix,
    with the words of the question as rows and those of the passage as columns, of the weights of the
    passage words, and of the words with the strongest attention; a page (.html) that shows the
    attention of each word one points at; and the numbers (.json, .csv). A long passage is printed in
    several lines, as many as fit a page: those with the answer and those that matter most.

    Example: allennlp bidaf attention runs/squad/model.tar.gz -o attention \\
                 --question "Who built it?" --passage "The mill was built by Ada Orn in 1871."
             allennlp bidaf attention runs/squad/model.tar.gz -o attention \\
                 --data dev-v1.1.json --ids 56be4db0acb8001400a502ec,56be4db0acb8001400a502ed
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        add_question_arguments(parser)
        parser.add_argument(
            "--threshold",
            type=float,
            default=0.5,
            help="name passage words whose attention to a question word is this or more",
        )
        parser.add_argument(
            "--whole-passage",
            action="store_true",
            help="print all lines of the passage, even if they take more than a page",
        )
        parser.add_argument(
            "-o", "--output", metavar="FOLDER", required=True, help="where the files go"
        )
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.attention import find_attention
        from bidaf_plugin.analysis.attention_files import write_attention
        from bidaf_plugin.archives.load import load_span_predictor

        if not 0 < args.threshold <= 1:
            raise DataError(f"--threshold must be above 0 and at most 1, not {args.threshold:g}")
        check_folder(args.output)
        questions = asked_questions(args)
        predictor = load_span_predictor(args.archive)
        os.makedirs(args.output, exist_ok=True)
        for id, question, passage, answers in questions:
            attention = find_attention(predictor, question, passage, id, answers)
            paths = write_attention(attention, args.output, args.threshold, args.whole_passage)
            print(f"{question} {attention.answer or '(no answer)'}")
            print("  wrote " + ", ".join(paths))
