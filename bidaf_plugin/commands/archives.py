"""
Actions that make another archive of an archive.
"""

import argparse
import os

from bidaf_plugin.commands.action import Action, add_archive, add_model_options, add_output
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written


@Action.register("calibrate")
class Calibrate(Action):
    """
    Make the confidences of a model mean what they say.

    Fits one number, the temperature that the model's logits are divided by, to a SQuAD file that the
    model was not trained on, such that of the answers with confidence 0.7 about 70 % are right. No
    answer changes, unless a no-answer threshold is set, which is a probability itself. OUT is the
    archive with the temperature in its config, and may be ARCHIVE itself.

    Shown are the expected calibration error before and after, and how confident and how right (exact
    match) the answers are, by confidence.

    Example: allennlp bidaf calibrate runs/squad/model.tar.gz dev-v1.1.json -o calibrated.tar.gz
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        parser.add_argument("data", help="a SQuAD file with gold answers")
        add_output(parser, "OUT", "the archive to write")
        parser.add_argument(
            "--batch-size", type=int, help="questions per batch (default: what is fastest)"
        )
        add_model_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis import calibration
        from bidaf_plugin.analysis.files import read_gold_paragraphs
        from bidaf_plugin.archives import load_span_predictor
        from bidaf_plugin.archives.rewrite import divide_logits
        from bidaf_plugin.predictors import EnsemblePredictor

        if args.batch_size is not None and args.batch_size < 1:
            raise DataError(f"--batch-size must be 1 or more, not {args.batch_size}")
        check_can_be_written(args.output)
        if not os.path.isfile(args.archive):
            raise DataError(f"{args.archive}: there is no such file; expected a model.tar.gz")
        paragraphs = read_gold_paragraphs(args.data)
        predictor = load_span_predictor(args.archive, args.cuda_device)
        if isinstance(predictor, EnsemblePredictor):
            raise DataError(
                f"{args.archive}: an ensemble; calibrate its members and put them together"
            )
        logits = calibration.collect_logits(predictor, paragraphs, args.batch_size)
        factor = calibration.fit_temperature(logits)
        temperature = divide_logits(args.archive, args.output, factor)
        print(calibration.describe_calibration(logits, factor))
        print(f"wrote {args.output}: temperature {temperature:.4g}")


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

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_archive(parser)
        add_output(parser, "OUT", "the archive to write")
        parser.add_argument("--words", type=int, help="how many words to keep (default: all)")
        parser.add_argument("--vectors", help="a file of word vectors, to fill up with new words")

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.archives.rewrite import compact_archive

        check_can_be_written(args.output)
        num_words = compact_archive(args.archive, args.output, args.words, args.vectors)
        size = os.path.getsize(args.output)
        print(f"wrote {args.output}: {num_words:,} words, {size / 1e6:.1f} MB")
