import argparse
from typing import List

from bidaf_plugin.analysis import answering, files
from bidaf_plugin.archives.ensemble import check_members, write_ensemble_archive
from bidaf_plugin.commands.action import Action, add_model_options, add_output
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.folders import check_can_be_written, check_folder
from bidaf_plugin.modules.ensemble_rules import EnsembleRule

_ALL = "all"


@Action.register("ensemble")
class Ensemble(Action):
    """
    Let several models answer the questions of a SQuAD file together.

    The models may have different vocabularies and tokenizers. If DATA has answers, the scores of each
    model and of all together are printed. OUT is one JSON object, {question id: answer}; with
    --rule all there is one file for each rule, predictions.votes.json and so on.

    Rules: votes    each model votes for its answer with its confidence (the paper)
           spans    the span with the largest probability on average
           mean     the best span by the averaged probabilities of start and end
           product  the best span by their products

    In place of archives there may be files of n-best answers (.nbest.json, plain or gzipped), for the rules
    votes and spans: models that are no longer there can answer together, too.

    --by-number writes what so many of them reach together to FOLDER, as numbers and as a picture, for files of
    n-best answers: means over choices of models, at most ten for each number.

    --archive writes an archive for `allennlp predict` and `allennlp evaluate` with all models in it.

    Example: allennlp bidaf ensemble runs/*/model.tar.gz --data dev-v1.1.json -o predictions.json
             allennlp bidaf ensemble a.tar.gz b.tar.gz --data dev-v1.1.json --rule all --one-at-a-time
             allennlp bidaf ensemble a.tar.gz b.tar.gz --archive both.tar.gz
             allennlp bidaf ensemble results/runs/*/predictions.nbest.json.gz --data dev-v1.1.json --rule all
             allennlp bidaf ensemble results/runs/*/predictions.nbest.json.gz --data dev-v1.1.json --by-number sizes
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "archives", metavar="ARCHIVE", nargs="*", help="models, model.tar.gz, or .nbest.json"
        )
        parser.add_argument("--data", help="a SQuAD file, with or without answers")
        add_output(parser, "OUT", "the file to write", required=False)
        parser.add_argument("--rule", default="votes", help="see above, or 'all'")
        parser.add_argument(
            "--one-at-a-time", action="store_true", help="never hold two models in memory"
        )
        parser.add_argument(
            "--by-number", metavar="FOLDER", help="scores by the number of models: see above"
        )
        parser.add_argument("--archive", metavar="ENSEMBLE", help="the archive to write")
        parser.add_argument(
            "--max-answer-length",
            metavar="L",
            type=int,
            help="largest number of tokens of an answer",
        )
        add_model_options(parser)

    def run(self, args: argparse.Namespace) -> None:
        check_members(args.archives)
        is_of_nbest = any(map(files.is_nbest_file, args.archives))
        possible = answering.NBEST_RULES if is_of_nbest else EnsembleRule.list_available()
        if args.rule not in (*possible, _ALL):
            known = ", ".join([*possible, _ALL])
            raise DataError(f"there is no rule {args.rule!r}; known are: {known}")
        rules = list(possible) if args.rule == _ALL else [args.rule]
        if is_of_nbest:
            _check_nbest(args)
        elif args.by_number is not None:
            raise DataError("--by-number is for files of n-best answers (.nbest.json)")
        if args.by_number is not None:
            check_folder(args.by_number)
        if args.by_number is not None and args.data is None:
            raise DataError("--by-number needs questions with answers: give them with --data")
        if args.data is None and args.archive is None:
            raise DataError("nothing to do: give the questions with --data, or --archive")
        if args.output is not None and args.data is None:
            raise DataError(f"there are no questions for {args.output}: give them with --data")
        if args.archive is not None and len(rules) > 1:
            raise DataError("an archive has one rule: give --rule with --archive")
        if args.archive is not None and args.max_answer_length is not None:
            raise DataError("--max-answer-length is for --data; an archive has its members' own")
        for path in filter(None, (args.output, args.archive)):
            check_can_be_written(path)
        if args.data is not None:
            _answer(args, rules, is_of_nbest)
        if args.archive is not None:
            write_ensemble_archive(args.archives, rules[0], args.archive)
            print(f"wrote {args.archive}")


def _check_nbest(args: argparse.Namespace) -> None:
    other = next((path for path in args.archives if not files.is_nbest_file(path)), None)
    if other is not None:
        raise DataError(f"{other} is no file of n-best answers (.nbest.json), as others are")
    for option in ("archive", "max_answer_length"):
        if getattr(args, option) is not None:
            raise DataError(f"--{option.replace('_', '-')} is for archives, not for n-best answers")


def _answer(args: argparse.Namespace, rules: List[str], is_of_nbest: bool) -> None:
    """Shows the scores, if the right answers are known, and writes the predictions."""
    from bidaf_plugin.analysis import ensemble_size

    read = files.read_paragraphs if args.by_number is None else files.read_gold_paragraphs
    paragraphs = read(args.data)
    if is_of_nbest:
        answers, known = answering.answer_from_nbest(args.archives, paragraphs, rules)
    elif args.output is None and not files.has_gold_answers(paragraphs):
        raise DataError(f"{args.data} has no answers to score against: give -o for the predictions")
    else:
        answers = answering.answer_together(
            args.archives,
            paragraphs,
            rules,
            args.one_at_a_time,
            args.max_answer_length,
            args.cuda_device,
        )
    scores = answering.score_together(answers, paragraphs)
    if scores:
        print(answering.format_scores(scores))
    for rule, predictions in answers.together.items() if args.output else ():
        path = args.output if len(rules) == 1 else files.path_beside(args.output, rule)
        files.write_json(path, predictions)
        print(f"wrote {path}")
    if args.by_number is not None:
        by_number = ensemble_size.score_by_number(args.archives, paragraphs, rules)
        print("wrote " + ", ".join(ensemble_size.write_sizes(by_number, args.by_number)))
    if is_of_nbest and "spans" in rules:
        print(
            f"the files have {known:.1%} of the probability; what is left out counts as 0 in spans"
        )
