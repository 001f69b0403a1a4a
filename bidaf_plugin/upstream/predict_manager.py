import argparse
import json
import sys
from contextlib import nullcontext
from typing import Any, Iterator, List, NamedTuple, Optional, Sequence, Union

from allennlp.commands import predict
from allennlp.common.file_utils import cached_path, open_compressed
from allennlp.common.tqdm import Tqdm
from allennlp.common.util import JsonDict, lazy_groups_of
from allennlp.data import Instance
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import DAMAGES, DataError
from bidaf_plugin.common.files import chunks_of_file, chunks_of_stream, open_atomically, read_json
from bidaf_plugin.common.folders import check_can_be_written
from bidaf_plugin.predictors.question_predictor import QuestionPredictor
from bidaf_plugin.runtime.records import id_of

# Among so many questions those with passages of similar length are answered together; the answers
# are written when all of them are there.
_QUESTIONS_AT_ONCE = 2_000
_BYTES_AT_ONCE = 4_000_000


class BadLine(dict):
    """What stands for a line of input that could not be used: `line`, `id` (if it has one) and `error`."""


class CheckedLine(NamedTuple):
    """A JSON object that has been checked, and what `QuestionPredictor.check` made of it."""

    record: JsonDict
    checked: Any


Question = Union[CheckedLine, BadLine, Instance]


class PredictManager(predict._PredictManager):
    """
    What `allennlp predict` does, with these differences:

    - The questions of a `QuestionPredictor` are answered in batches, which a `SpanPredictor` makes of
      passages of similar length. The answers come in the order of the questions, and `--batch-size`, if
      it is not given, is the fastest. (AllenNLP's default is 1.)
    - A line that cannot be used is named (or skipped, see `QuestionPredictor`).
    - An output file is either whole or not there.
    - It ends with a summary.
    """

    def __init__(
        self,
        predictor: Predictor,
        input_file: str,
        output_file: Optional[str],
        batch_size: int,
        *args: Any,
    ) -> None:
        if output_file:
            check_can_be_written(output_file)
        self._output_path = output_file
        is_given = batch_size != 1 or _is_given("--batch-size", sys.argv)
        self._given_batch_size = batch_size if is_given else None
        # The file is opened by `run`.
        super().__init__(predictor, input_file, None, batch_size, *args)

    @overrides
    def run(self) -> None:
        with open_atomically(self._output_path) if self._output_path else nullcontext() as file:
            self._output_file = file
            if isinstance(self._predictor, QuestionPredictor):
                self._answer_questions(self._predictor)
            else:
                super().run()

    def _answer_questions(self, predictor: QuestionPredictor) -> None:
        # On a terminal that shows the answers, a progress bar would stand between them.
        is_shown = self._print_to_console and sys.stdout.isatty()
        index = num_bad = 0
        with Tqdm.tqdm(unit=" questions", mininterval=0.5, disable=is_shown) as progress:
            for questions in self._read_questions():
                answers = self._answer(questions, predictor, progress)
                for question, answer in zip(questions, answers, strict=True):
                    shown = _show(question) if self._print_to_console else None
                    self._maybe_print_to_console_and_file(index, predictor.dump_line(answer), shown)
                    index += 1
                    num_bad += isinstance(question, BadLine)
                # Whoever waits at the other end of a pipe should have them now.
                for output in filter(None, (sys.stdout, self._output_file)):
                    output.flush()
        summary = f"questions answered: {index - num_bad:,}"
        summary += f", lines that could not be used: {num_bad:,}" if num_bad else ""
        summary += f"; the answers are in {self._output_path}" if self._output_path else ""
        print(summary, file=sys.stderr)

    def _answer(
        self, questions: Sequence[Question], predictor: QuestionPredictor, progress: Any
    ) -> List[JsonDict]:
        good = [question for question in questions if not isinstance(question, BadLine)]
        readable = (
            predictor.read_questions([line.checked for line in good])
            if self._dataset_reader is None
            else predictor.wrap_instances(good)
        )
        answers = iter(
            predictor.predict_questions(readable, self._given_batch_size, progress.update)
        )
        return [item if isinstance(item, BadLine) else next(answers) for item in questions]

    def _read_questions(self) -> Iterator[List[Question]]:
        """The questions, as many at once as are answered together."""
        if self._dataset_reader is not None:
            yield from lazy_groups_of(self._get_instance_data(), _QUESTIONS_AT_ONCE)
        else:
            yield from self._read_records()

    @overrides
    def _get_json_data(self) -> Iterator[JsonDict]:
        for lines in self._read_records():
            yield from (line.record for line in lines)

    def _read_records(self) -> Iterator[List[Any]]:
        line_number = 0
        for lines in self._read_lines():
            records = []
            for line in lines:
                line_number += 1
                if line.strip():
                    records.append(self._load_record(line, line_number))
            yield records

    def _load_record(self, line: bytes, line_number: int) -> Union[CheckedLine, BadLine]:
        predictor = self._predictor
        try:
            record = predictor.load_line(line.decode("utf-8"))
            is_ours = isinstance(predictor, QuestionPredictor)
            return CheckedLine(record, predictor.check(record) if is_ours else None)
        except (DataError, UnicodeDecodeError, ValueError) as error:
            message = f"{self._input_file}, line {line_number}: {error}"
            if not getattr(predictor, "skip_bad", False):
                raise DataError(message) from error
            return BadLine(line=line_number, **_id_of(line), error=message)

    def _read_lines(self) -> Iterator[List[bytes]]:
        limits = (_QUESTIONS_AT_ONCE, _BYTES_AT_ONCE)
        if self._input_file == "-":
            yield from chunks_of_stream(sys.stdin.buffer, *limits)
        else:
            try:
                with open_compressed(cached_path(self._input_file), "rb", encoding=None) as file:
                    yield from chunks_of_file(file, *limits)
            except DAMAGES as error:
                raise DataError(f"{self._input_file}: truncated or damaged ({error})") from error


def _id_of(line: bytes) -> JsonDict:
    """The id of a question that cannot be used, if it can be read."""
    try:
        record = read_json(line.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    id = id_of(record) if isinstance(record, dict) else None
    return {} if id is None else {"id": id}


def _show(question: Question) -> str:
    if isinstance(question, Instance):
        return str(question)
    return json.dumps(question.record if isinstance(question, CheckedLine) else question)


def _is_given(option: str, arguments: Sequence[str]) -> bool:
    """Whether an option, spelled in one of the ways that argparse knows, is on a command line."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument(option, dest="value", default=None)
    return parser.parse_known_args(arguments)[0].value is not None


def install() -> None:
    """Makes `allennlp predict` use it."""
    predict._PredictManager = PredictManager
