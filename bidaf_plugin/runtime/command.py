import argparse
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Dict, Iterator, List, Optional, Sequence

from bidaf_plugin.common.files import (
    chunks_of_file,
    chunks_of_stream,
    open_atomically,
    read_json,
)
from bidaf_plugin.runtime.errors import ExportedModelError, QuestionError
from bidaf_plugin.runtime.exported_model import ExportedModel
from bidaf_plugin.runtime.records import JsonDict, check_record

# Among so many questions those with passages of similar length are answered together.
_QUESTIONS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 4_000_000
_DESCRIPTION = """
Answers questions about passages with ONNX Runtime.

Examples: python MODEL --question 'Who built it?' --passage 'It was built by Ada Orn in 1871.'
          python MODEL questions.jsonl -o answers.jsonl
          some-program | python MODEL - | another-program

questions.jsonl has one JSON object per line, with `question`, `passage` (or a list of `passages`) and, if you
like, `id` and `n_best`.
"""


def main(arguments: Sequence[str], path: Path) -> int:
    """
    # Parameters

    arguments : `Sequence[str]`
        Of the command line.
    path : `Path`
        The exported model.

    # Returns

    `int`
        The exit code.
    """
    parser = _make_parser(path)
    options = parser.parse_args(arguments)
    has_one_question = options.question is not None and options.passage is not None
    if has_one_question == (options.questions is not None):
        parser.error("give either QUESTIONS or both --question and --passage")
    try:
        model = ExportedModel(path)
        if options.max_answer_length is not None:
            model.max_answer_length = options.max_answer_length
        if options.no_answer_threshold is not None:
            model.no_answer_threshold = options.no_answer_threshold
        with ExitStack() as stack:
            output: IO[str] = sys.stdout
            if options.output is not None:
                output = stack.enter_context(open_atomically(options.output))
            for records in _read(options):
                for answer in _answer(model, records, options.n_best):
                    output.write(json.dumps(answer) + "\n")
                # Whoever waits at the other end of a pipe should have them now.
                output.flush()
    except BrokenPipeError:
        # Whoever read the answers has enough of them; nothing more can be written.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"Error: {error.filename or 'output'}: {error.strerror or error}", file=sys.stderr)
        return 1
    except ExportedModelError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    return 0


def _make_parser(path: Path) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python {path}",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "questions", nargs="?", metavar="QUESTIONS", help="a file of JSON lines, - for a pipe"
    )
    parser.add_argument("--question", help="one question")
    parser.add_argument("--passage", help="the text that holds its answer")
    parser.add_argument("-o", "--output", help="the file to write (default: standard output)")
    parser.add_argument("--max-answer-length", type=_positive, metavar="TOKENS")
    parser.add_argument(
        "--n-best", type=_positive, metavar="N", help="also list the N best answers as `n_best`"
    )
    parser.add_argument(
        "--no-answer-threshold",
        type=float,
        metavar="T",
        help="there is no answer if the probability of that is above T",
    )
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="a line that cannot be used gives a record with `error` instead of stopping",
    )
    return parser


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 or more")
    return int(text)


def _read(options: argparse.Namespace) -> Iterator[List[JsonDict]]:
    if options.questions is None:
        record = {"question": options.question, "passage": options.passage}
        check_record(record)
        yield [record]
        return
    limits = (_QUESTIONS_AT_ONCE, _BYTES_AT_ONCE)
    line_number = 0
    with ExitStack() as stack:
        if options.questions == "-":
            chunks = chunks_of_stream(sys.stdin.buffer, *limits)
        else:
            chunks = chunks_of_file(stack.enter_context(open(options.questions, "rb")), *limits)
        for lines in chunks:
            records = []
            for line_number, line in enumerate(lines, start=line_number + 1):  # noqa: B020
                if line.strip():
                    records.append(_parse(line, f"line {line_number}", options.skip_bad))
            yield records


def _parse(line: bytes, place: str, skip_bad: bool) -> JsonDict:
    try:
        try:
            record = read_json(line.decode("utf-8"))
        except (ValueError, RecursionError) as error:
            raise QuestionError(f"not JSON ({error})") from error
        check_record(record)
        return record
    except QuestionError as error:
        if not skip_bad:
            raise QuestionError(f"{place}: {error}") from error
        return _BadLine(error=f"{place}: {error}")


class _BadLine(Dict[str, Any]):
    """What stands for a line that could not be used."""


def _answer(model: ExportedModel, records: List[JsonDict], n_best: Optional[int]) -> List[JsonDict]:
    good = [{"n_best": n_best, **record} for record in records if not isinstance(record, _BadLine)]
    answers = iter(model.answer_all(good))
    return [record if isinstance(record, _BadLine) else next(answers) for record in records]
