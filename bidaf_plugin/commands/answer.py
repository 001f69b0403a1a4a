"""
Actions that answer questions with a model: those of a file, or one.
"""

import argparse
import json
import sys

from bidaf_plugin.commands.action import (
    Action,
    add_cluster_options,
    add_model_options,
    add_output,
    cluster_options,
)
from bidaf_plugin.common.errors import DataError


@Action.register("answer")
class Answer(Action):
    """
    Answer all questions of a SQuAD file, into an official prediction file.

    OUT is one JSON object, {question id: answer}. Beside predictions.json there will be
    predictions.nbest.json if --n-best is given, {question id: [the best answers, each with text,
    probability and characters, ...]}, and predictions.na_prob.json if the model knows questions
    without an answer, {question id: probability that there is none}. Names that end in .gz make
    gzipped files.

    With --ray, DATA may also be JSON lines (.jsonl) or a folder of files of any size, which many workers
    answer. What cannot be used is left out, and named in OUT.errors.txt. What was interrupted goes on
    when the same command is run again.

    Example: allennlp bidaf answer runs/squad/model.tar.gz dev-v1.1.json -o predictions.json
             allennlp bidaf answer runs/squad/model.tar.gz dev-v1.1.json.gz -o predictions.json.gz \\
                 --n-best 5 --max-answer-length 17
             allennlp bidaf answer runs/squad/model.tar.gz corpus -o predictions.json --ray 10.0.0.1:6379
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        parser.add_argument("data", help="a SQuAD file, with or without answers")
        add_output(parser, "OUT", "the file to write")
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
        add_cluster_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.answering import answer_paragraphs
        from bidaf_plugin.analysis.files import read_paragraphs, write_answers
        from bidaf_plugin.archives.load import load_span_predictor
        from bidaf_plugin.common.folders import check_can_be_written

        predictor_args = {
            name: getattr(args, name)
            for name in ("n_best", "max_answer_length", "no_answer_threshold")
        }
        options = cluster_options(args)
        if options is not None:
            from bidaf_plugin.cluster.answering import AnsweringOptions, answer_files

            if args.cuda_device >= 0:
                raise DataError("with --ray it is --gpus-per-worker in place of --cuda-device")
            answering = AnsweringOptions(args.archive, predictor_args, args.batch_size)
            for path in answer_files(answering, args.data, args.output, options):
                print(f"wrote {path}")
            return
        check_can_be_written(args.output)
        paragraphs = read_paragraphs(args.data)
        predictor = load_span_predictor(args.archive, args.cuda_device, **predictor_args)
        answers = answer_paragraphs(predictor, paragraphs, args.batch_size)
        for path in write_answers(args.output, answers):
            print(f"wrote {path}")


# Characters before and after an answer that are shown with it.
_CONTEXT = 40


@Action.register("ask")
class Ask(Action):
    """
    Answer a question about a text.

    Prints the best answers, the most probable first, with their probabilities and where they stand. The
    text is PASSAGE, or files of any length of which one may hold the answer (- for the standard input).
    Without --archive, the model that comes with the package answers.

    Example: allennlp bidaf ask "Who built it?" "The mill was built by Ada Orn in 1871."
             allennlp bidaf ask "Who built it?" --file history.txt --file guide.txt --n-best 5
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("question")
        parser.add_argument("passage", nargs="?", help="the text that holds the answer")
        parser.add_argument(
            "--file", action="append", metavar="FILE", default=[], help="a text file; repeatable"
        )
        parser.add_argument("--archive", help="the model, model.tar.gz (default: the packaged one)")
        parser.add_argument("--n-best", metavar="N", type=int, default=3, help="how many answers")
        parser.add_argument(
            "--max-answer-length", metavar="N", type=int, help="words of an answer, at most"
        )
        parser.add_argument(
            "--json", action="store_true", help="print the record that `allennlp predict` gives"
        )
        add_model_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        if (args.passage is None) == (not args.file):
            raise DataError("give either a PASSAGE or one --file or more")
        passages = [_read(path) for path in args.file] or [args.passage]

        from bidaf_plugin.archives.load import load_span_predictor, packaged_archive
        from bidaf_plugin.runtime.records import Answers, to_record

        predictor = load_span_predictor(
            args.archive or packaged_archive(),
            args.cuda_device,
            max_answer_length=args.max_answer_length,
        )
        # One passage is not one of several, whose words would count.
        asked = passages if len(passages) > 1 else passages[0]
        record = predictor.predict_json({**to_record(args.question, asked), "n_best": args.n_best})
        if args.json:
            print(json.dumps(record))
            return
        answers = Answers.from_json(record)
        if not answers.is_answered:
            print(f"{answers.no_answer_probability:.3f}  (the text does not say)")
        for answer in answers:
            place = f"{args.file[answer.passage_index]}: " if args.file else ""
            passage = passages[answer.passage_index]
            print(f"{answer.probability:.3f}  {place}{_show(passage, answer.start, answer.end)}")


def _read(path: str) -> str:
    try:
        if path == "-":
            text = sys.stdin.read()
        else:
            with open(path, encoding="utf-8") as file:
                text = file.read()
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not a text in UTF-8 (byte {error.start})") from error
    if not text.strip():
        raise DataError(f"{path}: there is no text in it")
    return text


def _show(passage: str, start: int, end: int) -> str:
    """An answer in brackets with what stands around it, in one line."""
    before = "..." * (start > _CONTEXT) + passage[max(start - _CONTEXT, 0) : start]
    after = passage[end : end + _CONTEXT] + "..." * (end + _CONTEXT < len(passage))
    return " ".join(f"{before}[{passage[start:end]}]{after}".split())
