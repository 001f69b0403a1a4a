import argparse
import os

from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option
from bidaf_plugin.commands.action import Action


@Action.register("compact")
class Compact(Action):
    """
    Make a small archive of a trained model, to be copied and shipped.

    Weights are kept in half precision, the vocabulary is cut to the most frequent words, and of the
    config only what predicting and evaluating needs is left: no paths of the training data. With
    --vectors, words that the model has not met get their vectors from a file (the one that it was
    trained with, most frequent words first) as long as there is room.

    Example: allennlp bidaf compact runs/squad/model.tar.gz -o bidaf.tar.gz --words 100000
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        parser.add_argument(
            "-o", "--output", metavar="OUT", required=True, help="the archive to write"
        )
        parser.add_argument("--words", type=int, help="how many words to keep (default: all)")
        parser.add_argument("--vectors", help="a file of word vectors, to fill up with new words")
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.archives.compact import compact_archive
        from bidaf_plugin.common.folders import check_can_be_written

        check_can_be_written(args.output)
        num_words = compact_archive(args.archive, args.output, args.words, args.vectors)
        size = os.path.getsize(args.output)
        print(f"wrote {args.output}: {num_words:,} words, {size / 1e6:.1f} MB")
