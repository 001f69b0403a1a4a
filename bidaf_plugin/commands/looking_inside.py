"""
Actions that look inside a model: why it answers single questions as it does, which are given by their texts, or by
ids of a SQuAD file; and where words lie in its spaces.
"""

import argparse
import os
from typing import List, Tuple

from bidaf_plugin.commands.action import Action, add_archive, add_output
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_folder
from bidaf_plugin.data.dataset_readers.squad_json import Question

_METHODS = ("simple-gradient", "integrated-gradient", "smooth-gradient")
# Of the paper's table.
_WORDS = "When,Where,Who,city,January,Seahawks,date"


@Action.register("attention")
class Attention(Action):
    """
    Show which words of a passage and of a question attend to each other: the paper's Figure 3.

    FOLDER gets five files for each question, named by its id: a picture (.png and .svg) of the matrix,
    with the words of the question as rows and those of the passage as columns, of the weights of the
    passage words, and of the words with the strongest attention; a page (.html) that shows the
    attention of each word one points at; and the numbers (.json, .csv). A long passage is printed in
    several lines, as many as fit a page: those with the answer and those that matter most.

    Example: allennlp bidaf attention runs/squad/model.tar.gz -o attention \\
                 --question "Who built it?" --passage "The mill was built by Ada Orn in 1871."
             allennlp bidaf attention runs/squad/model.tar.gz -o attention \\
                 --data dev-v1.1.json --ids 56be4db0acb8001400a502ec,56be4db0acb8001400a502ed
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_archive(parser)
        add_question_arguments(parser)
        parser.add_argument(
            "--threshold",
            type=float,
            default=0.5,
            help="name passage words whose attention to a question word is this or more",
        )
        parser.add_argument(
            "--whole-passage",
            action="store_true",
            help="print all lines of the passage, even if they take more than a page",
        )
        add_output(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.attention import find_attention
        from bidaf_plugin.analysis.attention_files import write_attention
        from bidaf_plugin.archives.load import load_span_predictor

        if not 0 < args.threshold <= 1:
            raise DataError(f"--threshold must be above 0 and at most 1, not {args.threshold:g}")
        check_folder(args.output)
        questions = asked_questions(args)
        predictor = load_span_predictor(args.archive)
        os.makedirs(args.output, exist_ok=True)
        for (id, question, answers, _), passage in questions:
            attention = find_attention(predictor, question, passage, id, answers)
            paths = write_attention(attention, args.output, args.threshold, args.whole_passage)
            print(f"{question} {attention.answer or '(no answer)'}")
            print("  wrote " + ", ".join(paths))


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

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_archive(parser)
        add_question_arguments(parser)
        parser.add_argument(
            "--method", choices=_METHODS, default=_METHODS[0], help="how gradients make scores"
        )
        add_output(parser, required=False)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.saliency import find_saliency, format_saliency, write_saliency
        from bidaf_plugin.archives.load import load_predictor

        check_folder(args.output)
        questions = asked_questions(args)
        predictor = load_predictor(args.archive)
        for (id, question, *_), passage in questions:
            record = {"question": question, "passage": passage}
            saliency = find_saliency(predictor, record, args.method)
            print(f"{question}\n\n{format_saliency(saliency)}\n")
            if args.output is not None:
                os.makedirs(args.output, exist_ok=True)
                print("wrote " + ", ".join(write_saliency(saliency, question, id, args.output)))


@Action.register("neighbors")
class Neighbors(Action):
    """
    List the words that are closest to query words in the spaces of a model: the paper's Table 2.

    Spaces are that of the word embedding layer and that of the contextual layer; closeness is the
    cosine. A query word stands for the mean of its occurrences in the questions of DATA, and a word of
    the passages is as close as the closest of its occurrences. With --occurrences, as in the paper, it
    stands for one occurrence, drawn with --seed, and the closest occurrences are listed too, among
    which a word can be several times. FOLDER gets the table (neighbors.md) and all numbers, with the
    words around the closest occurrence (neighbors.csv).

    Example: allennlp bidaf neighbors runs/squad/model.tar.gz dev-v1.1.json
             allennlp bidaf neighbors runs/squad/model.tar.gz dev-v1.1.json --words Who,river -k 5 -o table2
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_archive(parser)
        parser.add_argument("data", help="a SQuAD file, with or without answers")
        parser.add_argument("--words", default=_WORDS, help="with commas between them, cased")
        parser.add_argument("-k", type=int, default=10, help="neighbours of a word")
        parser.add_argument(
            "--occurrences",
            action="store_true",
            help="single occurrences in place of means over all of them",
        )
        parser.add_argument(
            "--seed",
            type=int,
            default=0,
            help="another seed, another occurrence of the query words",
        )
        add_output(parser, required=False)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis import word_spaces
        from bidaf_plugin.analysis.formats import write_csv
        from bidaf_plugin.archives.load import load_span_predictor

        if args.k < 1:
            raise DataError(f"-k must be 1 or more, not {args.k}")
        check_folder(args.output)
        words = parse_words(args.words)
        predictor = load_span_predictor(args.archive)
        instances = list(predictor._dataset_reader.read(args.data))
        seed = args.seed if args.occurrences else None
        neighborhoods = word_spaces.find_neighbors(predictor, instances, words, args.k, seed)
        table = word_spaces.format_neighbors(neighborhoods)
        print(table, end="")
        if args.output is not None:
            os.makedirs(args.output, exist_ok=True)
            write_atomically(os.path.join(args.output, "neighbors.md"), table)
            write_csv(
                os.path.join(args.output, "neighbors.csv"), word_spaces.neighbor_rows(neighborhoods)
            )


@Action.register("tsne")
class Tsne(Action):
    """
    Draw a map of words in the spaces of a model: the paper's Figure 2a.

    Spaces are that of the word embedding layer, where every word has a point, and that of the contextual
    layer, where every occurrence in the passages of DATA has one. FOLDER gets the picture (tsne.png,
    tsne.svg) and the points, with the words around each (tsne.csv).

    Example: allennlp bidaf tsne runs/squad/model.tar.gz dev-v1.1.json -o months
             allennlp bidaf tsne runs/squad/model.tar.gz dev-v1.1.json --words king,queen,duke -o people
    """

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        add_archive(parser)
        parser.add_argument("data", help="a SQuAD file, with or without answers")
        parser.add_argument(
            "--words",
            default="months",
            help="words with commas between them, in any case; 'months' for their names",
        )
        parser.add_argument("--seed", type=int, default=0, help="another seed, another map")
        parser.add_argument(
            "--max-occurrences",
            metavar="N",
            type=int,
            default=100,
            help="draw so many occurrences of a word with more of them",
        )
        parser.add_argument(
            "--others",
            metavar="N",
            type=int,
            default=2000,
            help="so many other words take part and are not shown",
        )
        add_output(parser)

    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.figures import save_figure
        from bidaf_plugin.analysis.formats import write_csv
        from bidaf_plugin.analysis.word_map import MONTHS, draw_word_map, map_rows, map_words
        from bidaf_plugin.archives.load import load_span_predictor

        if args.max_occurrences < 1 or args.others < 0 or args.seed < 0:
            raise DataError("--max-occurrences must be 1 or more, --others and --seed 0 or more")
        check_folder(args.output)
        words = MONTHS if args.words == "months" else parse_words(args.words)
        predictor = load_span_predictor(args.archive)
        instances = list(predictor._dataset_reader.read(args.data))
        points = map_words(
            predictor, instances, words, args.seed, args.max_occurrences, args.others
        )
        os.makedirs(args.output, exist_ok=True)
        path = os.path.join(args.output, "tsne")
        write_csv(f"{path}.csv", map_rows(points))
        paths = [f"{path}.csv", *save_figure(draw_word_map(points), path)]
        print("wrote " + ", ".join(paths))


def parse_words(argument: str) -> List[str]:
    """The words of an argument that has commas between them, each once."""
    words = [word.strip() for word in argument.split(",")]
    found = list(dict.fromkeys(word for word in words if word))
    if not found:
        raise DataError(f"--words is {argument!r}; expected words with commas between them")
    return found


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--question", help="a question; give --passage with it")
    parser.add_argument("--passage", help="the text that holds the answer")
    parser.add_argument("--data", metavar="SQUAD", help="a SQuAD file; give --ids with it")
    parser.add_argument("--ids", help="ids of questions of that file, with commas between them")


def asked_questions(args: argparse.Namespace) -> List[Tuple[Question, str]]:
    """The questions that are meant, with their passages. One given by its text has no id and no answers."""
    from bidaf_plugin.analysis.files import read_paragraphs

    texts, ids = (args.question, args.passage), (args.data, args.ids)
    if None not in texts and ids == (None, None):
        return [(Question("", args.question, []), args.passage)]
    if None in ids or texts != (None, None):
        raise DataError("give either --question and --passage, or --data and --ids")
    wanted = [id.strip() for id in args.ids.split(",") if id.strip()]
    found = {
        question.id: (question, paragraph.passage)
        for paragraph in read_paragraphs(args.data)
        for question in paragraph.questions
    }
    for id in wanted:
        if id not in found:
            raise DataError(f"{args.data}: there is no question with the id {id!r}")
    if not wanted:
        raise DataError("--ids names no question")
    return [found[id] for id in wanted]
