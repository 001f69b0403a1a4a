import argparse
from typing import TYPE_CHECKING, Dict

from overrides import overrides

from bidaf_plugin.commands.action import Action, add_model_options
from bidaf_plugin.common.errors import DataError

if TYPE_CHECKING:
    from bidaf_plugin.analysis.attention import AttentionSummary
    from bidaf_plugin.analysis.run_report import AnswerReport
    from bidaf_plugin.analysis.training_run import TrainingRun
    from bidaf_plugin.predictors import SpanPredictor


@Action.register("report")
class Report(Action):
    """
    Show a training run on one page: curves, metrics, parameters, answers and errors.

    RUN is the folder of `allennlp train -s`, whether training has ended or not. The page is one file
    that needs no network. With --data, a SQuAD file, its questions are answered by the model, or by
    its best state so far, or taken from --predictions; the page then has scores of groups of questions,
    and samples of answers, with what the model attends to, and of errors.

    Example: allennlp bidaf report runs/squad -o report.html
             allennlp bidaf report runs/squad --data dev-v1.1.json -o report.html
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("run", help="the folder of a training run")
        parser.add_argument(
            "-o", "--output", metavar="FILE", required=True, help="the page to write"
        )
        parser.add_argument("--data", metavar="DATA", help="a SQuAD file with gold answers")
        parser.add_argument(
            "--predictions",
            metavar="FILE",
            help="answers to its questions, {question id: answer}, if they are there already",
        )
        parser.add_argument(
            "-n", "--num-samples", metavar="N", type=int, default=8,
            help="how many answers, and how many errors, to show",
        )  # fmt: skip
        parser.add_argument(
            "--seed", metavar="S", type=int, default=0, help="another seed, other samples"
        )
        add_model_options(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.run_report import report_as_html
        from bidaf_plugin.analysis.training_run import read_run
        from bidaf_plugin.common.files import write_atomically
        from bidaf_plugin.common.folders import check_can_be_written

        if args.predictions is not None and args.data is None:
            raise DataError("--predictions needs --data")
        if args.num_samples < 0:
            raise DataError(f"-n must not be negative, found {args.num_samples}")
        check_can_be_written(args.output)
        run = read_run(args.run)
        answers = report_on_data(run, args) if args.data is not None else None
        write_atomically(args.output, report_as_html(run, answers))
        print(f"wrote {args.output}: {len(run.epochs)} epochs")


def report_on_data(run: "TrainingRun", args: argparse.Namespace) -> "AnswerReport":
    """The answers of the run's model, with what it attends to, or those that are given."""
    from bidaf_plugin.analysis.answering import answer_paragraphs
    from bidaf_plugin.analysis.prediction_files import read_predictions
    from bidaf_plugin.analysis.run_report import report_answers
    from bidaf_plugin.analysis.squad_files import read_gold_paragraphs
    from bidaf_plugin.archives.load import load_span_predictor

    paragraphs = read_gold_paragraphs(args.data)
    samples = (args.num_samples, args.seed)
    if args.predictions is not None:
        return report_answers(args.data, paragraphs, read_predictions(args.predictions), *samples)
    if run.model_path is None:
        raise DataError(f"{run.folder}: there is no model yet that could answer the questions")
    predictor = load_span_predictor(run.model_path, args.cuda_device)
    records = answer_paragraphs(predictor, paragraphs)
    predictions = {record["id"]: record["best_span_str"] for record in records}
    report = report_answers(args.data, paragraphs, predictions, *samples)
    return report._replace(attention=find_attention_of_sample(predictor, report))


def find_attention_of_sample(
    predictor: "SpanPredictor", report: "AnswerReport"
) -> Dict[str, "AttentionSummary"]:
    """By question id; nothing if the model has no attention layer to look into."""
    from bidaf_plugin.analysis.attention import find_attention, summarize_attention

    passages = report.passages()
    try:
        return {
            item.id: summarize_attention(
                find_attention(predictor, item.question, passages[item.id])
            )
            for item in report.sample
        }
    except DataError:
        return {}
