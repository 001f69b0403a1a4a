"""
Actions that look at where words lie in the spaces of a model.
"""

import argparse
import os
from typing import List

from overrides import overrides

from bidaf_plugin.archives.trust import add_trust_option
from bidaf_plugin.commands.action import Action
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import write_atomically
from bidaf_plugin.common.folders import check_folder

# Of the paper's table.
_WORDS = "When,Where,Who,city,January,Seahawks,date"


@Action.register("neighbors")
class Neighbors(Action):
    """
    List the words that are closest to query words in the spaces of a model: the paper's Table 2.

    Spaces are that of the word embedding layer and that of the contextual layer; closeness is the
    cosine. A query word stands for the mean of its occurrences in the questions of DATA, and a word of
    the passages is as close as the closest of its occurrences. FOLDER gets the table (neighbors.md) and
    all numbers, with the words around the closest occurrence (neighbors.csv).

    Example: allennlp bidaf neighbors runs/squad/model.tar.gz dev-v1.1.json
             allennlp bidaf neighbors runs/squad/model.tar.gz dev-v1.1.json --words Who,river -k 5 -o table2
    """

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
        parser.add_argument("data", help="a SQuAD file, with or without answers")
        parser.add_argument("--words", default=_WORDS, help="with commas between them, cased")
        parser.add_argument("-k", type=int, default=10, help="neighbours of a word")
        parser.add_argument("-o", "--output", metavar="FOLDER", help="where the files go")
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.neighbors import find_neighbors, format_neighbors, neighbor_rows
        from bidaf_plugin.analysis.tables import write_csv
        from bidaf_plugin.archives.load import load_span_predictor

        if args.k < 1:
            raise DataError(f"-k must be 1 or more, not {args.k}")
        check_folder(args.output)
        words = parse_words(args.words)
        predictor = load_span_predictor(args.archive)
        instances = list(predictor._dataset_reader.read(args.data))
        neighborhoods = find_neighbors(predictor, instances, words, args.k)
        table = format_neighbors(neighborhoods)
        print(table, end="")
        if args.output is not None:
            os.makedirs(args.output, exist_ok=True)
            write_atomically(os.path.join(args.output, "neighbors.md"), table)
            write_csv(os.path.join(args.output, "neighbors.csv"), neighbor_rows(neighborhoods))


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

    @overrides
    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("archive", help="the model, model.tar.gz")
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
        parser.add_argument(
            "-o", "--output", metavar="FOLDER", required=True, help="where the files go"
        )
        add_trust_option(parser)

    @overrides
    def run(self, args: argparse.Namespace) -> None:
        from bidaf_plugin.analysis.figures import save_figure
        from bidaf_plugin.analysis.tables import write_csv
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
