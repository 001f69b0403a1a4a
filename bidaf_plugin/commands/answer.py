import argparse

from overrides import overrides

from bidaf_plugin.commands.action import Action, add_model_options


@Action.register("answer")
class Answer(Action):
    """
    Answer all questions of a SQuAD file, into an official prediction file.

    OUT is one JSON object, {question id: answer}. Beside predictions.json there will be
    predictions.nbest.json if --n-best is given, {question id: [the best answers, each with text,
    probability and characters, ...]}, and predictions.na_prob.json if the model knows questions
    without an answer, {question id: probability that there is none}. Names that end in .gz make
    gzipped files.

    Example: allennlp bidaf answer runs/squad/model.tar.gz dev-v1.1.json -o predictions.json
             allennlp bidaf answer runs/squad/model.tar.gz dev-v1.1.json.gz -o predictions.json.gz \\
                 --n-best 5 --max-answer-length 17
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        parser.add_argument("data", help="a SQuAD file, with or without answers")
        parser.add_argument(
            "-o", "--output", metavar="OUT", required=True, help="the file to write"
        )
        parser.add_argument("--n-best", metavar="N", type=int, help="also write the N best answers")
        parser.add_argument(
            "--max-answer-length",
            metavar="L",
            type=int,
            help="largest number of tokens of an answer",
        )
        parser.add_argument(
            "--no-answer-threshold",
            metavar="T",
            type=float,
            help="answer '' if the probability that there is no answer is above T; 1 for never",
        )
        parser.add_argument(
            "--batch-size", type=int, help="questions per batch (default: what is fastest)"
        )
        add_model_options(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.answering import answer_paragraphs, write_answers
        from bidaf_plugin.analysis.squad_files import read_paragraphs
        from bidaf_plugin.archives.load import load_span_predictor
        from bidaf_plugin.common.folders import check_can_be_written

        check_can_be_written(args.output)
        paragraphs = read_paragraphs(args.data)
        arguments = {
            "n_best": args.n_best,
            "max_answer_length": args.max_answer_length,
            "no_answer_threshold": args.no_answer_threshold,
        }
        given = {name: value for name, value in arguments.items() if value is not None}
        predictor = load_span_predictor(args.archive, args.cuda_device, **given)
        answers = answer_paragraphs(predictor, paragraphs, args.batch_size)
        for path in write_answers(args.output, answers):
            print(f"wrote {path}")
