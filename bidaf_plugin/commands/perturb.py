import argparse

from bidaf_plugin.commands.action import Action, add_output
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written


@Action.register("perturb")
class Perturb(Action):
    """
    Make a SQuAD file harder, to see how robust a model is.

    KIND is one of distractor (a sentence of another article, which shares words with the question, stands
    before or after the passage), joined (the passage is two paragraphs), misspelt (one word of each question),
    missing_words (questions lack some), lower_case, upper_case, and unchanged. Ids and answers stay, at their new places; the
    same seed gives the same file. `answer` and `score` take it.

    Example: allennlp bidaf perturb dev-v1.1.json distractor -o distractor.json
             allennlp bidaf perturb dev-v1.1.json misspelt -o misspelt.json --questions 2000 --seed 1
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("data", help="a SQuAD file")
        parser.add_argument("kind", metavar="KIND", help="see above")
        add_output(parser, "OUT", "the file to write")
        parser.add_argument("--seed", type=int, default=0, help="for what is drawn")
        parser.add_argument(
            "--questions", metavar="N", type=int, help="only so many, drawn (default: all)"
        )

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.files import write_json
        from bidaf_plugin.data.dataset_readers.perturbations import draw_questions, perturb
        from bidaf_plugin.data.dataset_readers.squad_json import as_squad_json, read_squad_json

        if args.questions is not None and args.questions < 1:
            raise DataError(f"--questions must be 1 or more, not {args.questions}")
        check_can_be_written(args.output)
        paragraphs = list(perturb(read_squad_json(args.data), args.kind, args.seed))
        if args.questions is not None:
            paragraphs = draw_questions(paragraphs, args.questions, args.seed)
        write_json(args.output, as_squad_json(paragraphs))
        num_questions = sum(len(paragraph.questions) for paragraph in paragraphs)
        print(f"wrote {args.output}: {num_questions:,} questions")
