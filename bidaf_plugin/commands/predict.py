import gzip
import os
import sys
import zlib
from typing import Iterator, Optional

from allennlp.commands import predict
from allennlp.common.file_utils import cached_path, open_compressed
from allennlp.common.util import JsonDict
from allennlp.predictors import Predictor
from overrides import overrides

from bidaf_plugin.common.errors import BadLine, DataError


class PredictManager(predict._PredictManager):
    """
    What `allennlp predict` does, with the line named when it cannot be used (or skipped, see
    `SpanPredictor`), and an output file that is either whole or not there.
    """

    def __init__(
        self,
        predictor: Predictor,
        input_file: str,
        output_file: Optional[str],
        *args: object,
    ) -> None:
        self._final_output_file: Optional[str] = None
        self._temporary_output_file: Optional[str] = None
        # A pipe or a device is written to as it is; a link stays a link.
        if output_file and (os.path.isfile(output_file) or not os.path.exists(output_file)):
            self._final_output_file = os.path.realpath(output_file)
            if not os.path.isdir(os.path.dirname(self._final_output_file)):
                raise DataError(f"{output_file}: there is no such folder")
            self._temporary_output_file = f"{self._final_output_file}.{os.getpid()}.tmp"
        super().__init__(predictor, input_file, self._temporary_output_file or output_file, *args)

    @overrides
    def run(self) -> None:
        try:
            super().run()
            if self._final_output_file and self._temporary_output_file:
                os.replace(self._temporary_output_file, self._final_output_file)
        finally:
            if self._temporary_output_file and os.path.exists(self._temporary_output_file):
                os.remove(self._temporary_output_file)

    @overrides
    def _get_json_data(self) -> Iterator[JsonDict]:
        for line_number, line in enumerate(self._read_lines(), start=1):
            if not line.strip():
                continue
            try:
                yield self._predictor.load_line(line.decode("utf-8"))
            except (DataError, UnicodeDecodeError, ValueError) as error:
                message = f"{self._input_file}, line {line_number}: {error}"
                if not getattr(self._predictor, "skip_bad", False):
                    raise DataError(message) from error
                yield BadLine(line=line_number, error=message)

    def _read_lines(self) -> Iterator[bytes]:
        if self._input_file == "-":
            yield from sys.stdin.buffer
        else:
            try:
                with open_compressed(cached_path(self._input_file), "rb", encoding=None) as file:
                    yield from file
            except (EOFError, gzip.BadGzipFile, zlib.error) as error:
                raise DataError(f"{self._input_file}: truncated or damaged ({error})") from error


def install_predict_manager() -> None:
    """Makes `allennlp predict` use it."""
    predict._PredictManager = PredictManager
