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
    Write a model into one file that answers questions without AllenNLP.

    OUT needs Python, torch, numpy and safetensors, and nothing else: it holds the weights, the
    vocabulary and the tokenizer's rules (safetensors and JSON, no pickles), and a small program that reads
    them. Its answers are those of ARCHIVE. For models that answer with spans.

    Example: allennlp bidaf export runs/squad/model.tar.gz squad.zip
             python squad.zip --question 'Who built it?' --passage 'It was built by Ada Orn.'
             python squad.zip questions.jsonl -o answers.jsonl
             python squad.zip --help
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model.tar.gz of a training run")
        parser.add_argument("out", help="the file to write, like squad.zip")
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
        manifest = export_archive(
            args.archive, args.out, args.max_answer_length, args.pretrained_file
        )
        print(f"{args.out}: {os.path.getsize(args.out):,} bytes; it needs {_list(manifest)}")
        print(f"Try it: python {args.out} --question 'Who built it?' --passage 'Ada Orn built it.'")


def _list(manifest: dict) -> str:
    return ", ".join(manifest["needs"])
