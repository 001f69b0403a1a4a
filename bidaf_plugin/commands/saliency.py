import argparse
import os

from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option
from bidaf_plugin.commands.action import Action
from bidaf_plugin.commands.asked_questions import add_question_arguments, asked_questions
from bidaf_plugin.common.folders import check_folder

_METHODS = ("simple-gradient", "integrated-gradient", "smooth-gradient")


@Action.register("saliency")
class Saliency(Action):
    """
    Show how much each word matters to an answer, by gradients.

    The methods are those of allennlp.interpret. FOLDER gets a page (.html) and the numbers (.json) for each
    question.

    Example: allennlp bidaf saliency runs/squad/model.tar.gz \\
                 --question "Who built it?" --passage "The mill was built by Ada Orn in 1871."
             allennlp bidaf saliency runs/squad/model.tar.gz --method integrated-gradient -o saliency \\
                 --data dev-v1.1.json --ids 56be4db0acb8001400a502ec
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        add_question_arguments(parser)
        parser.add_argument(
            "--method", choices=_METHODS, default=_METHODS[0], help="how gradients make scores"
        )
        parser.add_argument("-o", "--output", metavar="FOLDER", help="where the files go")
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.saliency import (
            find_saliency,
            format_saliency,
            write_saliency,
        )
        from bidaf_plugin.archives.load import load_predictor

        check_folder(args.output)
        questions = asked_questions(args)
        predictor = load_predictor(args.archive)
        for id, question, passage, _ in questions:
            record = {"question": question, "passage": passage}
            saliency = find_saliency(predictor, record, args.method)
            print(f"{question}\n\n{format_saliency(saliency)}\n")
            if args.output is not None:
                os.makedirs(args.output, exist_ok=True)
                print("wrote " + ", ".join(write_saliency(saliency, question, id, args.output)))
