import argparse
import os

from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written


@Action.register("export")
class Export(Action):
    """
    Write a model into one file that answers questions without AllenNLP and torch.

    OUT.onnx is the network in the format ONNX, for any program that can run it: whole numbers in, logits out;
    how texts become these numbers is said in its metadata. OUT.zip holds that file and a small program, which
    needs Python, numpy and onnxruntime. Its answers are those of ARCHIVE. For models that answer with spans.

    Example: allennlp bidaf export runs/squad/model.tar.gz squad.zip
             python squad.zip --question 'Who built it?' --passage 'It was built by Ada Orn.'
             python squad.zip questions.jsonl -o answers.jsonl
             python squad.zip --help
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model.tar.gz of a training run")
        parser.add_argument("out", help="the file to write, like squad.onnx or squad.zip")
        parser.add_argument(
            "--int8",
            action="store_true",
            help="round weights and word vectors to eight bits: a smaller file, nearly the same answers",
        )
        parser.add_argument(
            "--attention",
            action="store_true",
            help="what passage and question attend to is among the outputs",
        )
        parser.add_argument("--licence", metavar="TEXT", help="kept in the file")
        parser.add_argument(
            "--card", metavar="FILE", help="a text on the model; what it says is kept in the file"
        )
        parser.add_argument(
            "--max-answer-length",
            type=int,
            metavar="TOKENS",
            help="the longest answer, in place of the archive's own limit",
        )
        parser.add_argument(
            "--pretrained-file",
            metavar="FILE",
            help="word vectors, normally those of the training: the words of FILE become known, too",
        )
        parser.add_argument("-f", "--force", action="store_true", help="replace OUT if it exists")
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.export import export_archive

        if os.path.isdir(args.out) or (os.path.exists(args.out) and not args.force):
            raise DataError(f"{args.out} exists: use --force to replace a file")
        check_can_be_written(args.out)
        card = None
        if args.card is not None:
            with open(args.card, encoding="utf-8") as file:
                card = file.read()
        export_archive(
            args.archive,
            args.out,
            args.max_answer_length,
            args.pretrained_file,
            int8=args.int8,
            attention=args.attention,
            licence=args.licence,
            card=card,
        )
        print(f"{args.out}: {os.path.getsize(args.out):,} bytes; it needs onnxruntime and numpy")
        if not args.out.endswith(".onnx"):
            print(
                f"Try it: python {args.out} --question 'Who built it?' --passage 'Ada Orn built it.'"
            )
