"""
The network in the file that `allennlp bidaf export` writes, run by ONNX Runtime.
"""

import hashlib
import json
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, List, Optional, Union

import numpy

from bidaf_plugin.runtime.errors import ExportedModelError

# The key of the JSON in the file's metadata, and what the JSON says of its form.
METADATA_KEY = "bidaf"
FORMAT = 1
# Where the network is in an exported zip file.
MODEL_NAME = "model.onnx"

# The last bytes of a file: one more entry of the metadata, with a checksum of all bytes before. (In the format
# of protocol buffers: 80 bytes of field 14, the 12 of a key and the 64 of a value.)
CHECKSUM_KEY = "bidaf_sha256"
_BEFORE_CHECKSUM = b"\x72\x50\x0a\x0c" + CHECKSUM_KEY.encode() + b"\x12\x40"
_NUM_DIGITS = 64

Arrays = Dict[str, numpy.ndarray]


def with_checksum(model: bytes) -> bytes:
    """An ONNX file with its checksum at the end; it stays an ONNX file."""
    return model + _BEFORE_CHECKSUM + hashlib.sha256(model).hexdigest().encode()


class Session:
    """
    A network, which is as it was written, ready to run on the CPU.

    # Parameters

    path : `Union[str, Path]`
        The `.onnx` file, or the zip file with it, or the folder that this was unpacked to.
    num_threads : `int`, optional (default = `None`)
        By default `OMP_NUM_THREADS` of the environment, as with torch, or all that this process may use.

    # Attributes

    metadata : `Dict[str, Any]`
        What the file says of itself: `format`, `settings`, `vocabulary`, `licence`, `card`.
    input_names, output_names : `List[str]`
        Of the arrays that `run` takes and gives.
    """

    def __init__(self, path: Union[str, Path], num_threads: Optional[int] = None) -> None:
        self._path = path
        content = _read(path)
        checked, checksum = content[:-_NUM_DIGITS], content[-_NUM_DIGITS:]
        if not checked.endswith(_BEFORE_CHECKSUM):
            raise ExportedModelError(
                f"{path}: not a model that 'allennlp bidaf export' wrote, or not the whole of it"
            )
        digest = hashlib.sha256(memoryview(checked)[: -len(_BEFORE_CHECKSUM)]).hexdigest()
        if digest.encode() != checksum:
            raise ExportedModelError(f"{path}: has been changed or damaged (its checksum is wrong)")
        self._session = self._open(content, num_threads or _count_threads())
        self.input_names: List[str] = [item.name for item in self._session.get_inputs()]
        self.output_names: List[str] = [item.name for item in self._session.get_outputs()]
        self.metadata = self._read_metadata()
        self._check_sizes()

    def _open(self, content: bytes, num_threads: int) -> Any:
        try:
            import onnxruntime
        except ImportError as error:
            raise ExportedModelError(
                f"{self._path}: onnxruntime is needed to run it, and cannot be imported: "
                f"pip install onnxruntime ({error})"
            ) from error
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = num_threads
        # Errors only: they are raised as well.
        options.log_severity_level = 3
        try:
            return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])
        except Exception as error:
            # Such as operators, or a version of them, that are newer than what is installed.
            raise ExportedModelError(
                f"{self._path}: onnxruntime {onnxruntime.__version__} cannot load it "
                f"({_first_line(error)})"
            ) from error

    def _read_metadata(self) -> Dict[str, Any]:
        properties = self._session.get_modelmeta().custom_metadata_map
        try:
            metadata = json.loads(properties[METADATA_KEY])
            number = metadata["format"]
            has_all = {"settings", "vocabulary"} <= metadata.keys()
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            number, has_all = None, False
        if isinstance(number, int) and number > FORMAT:
            raise ExportedModelError(
                f"{self._path}: its format is {number}, and this program reads up to {FORMAT}"
            )
        if number != FORMAT or not has_all:
            raise ExportedModelError(f"{self._path}: its metadata are not those of such a model")
        return metadata

    def _check_sizes(self) -> None:
        """That the network has a vector for each word and each character: it looks up the last ones."""
        arrays: Arrays = {}
        try:
            vocabulary = self.metadata["vocabulary"]
            for name in self.input_names:
                kind = name.partition("_")[2]
                if kind == "words":
                    arrays[name] = numpy.full((1, 1), len(vocabulary["tokens"]) - 1)
                elif kind == "characters":
                    length = self.metadata["settings"]["max_word_length"]
                    last = len(vocabulary["token_characters"]) - 1
                    arrays[name] = numpy.full((1, 1, length), last)
                else:
                    arrays[name] = numpy.ones((1,) if kind == "lengths" else (1, 1), numpy.int64)
            self.run(arrays)
        except (LookupError, TypeError, ExportedModelError) as error:
            raise ExportedModelError(
                f"{self._path}: its network does not go with its vocabulary and settings "
                f"({_first_line(error)})"
            ) from error

    def run(self, arrays: Arrays) -> Arrays:
        """
        # Parameters

        arrays : `Dict[str, numpy.ndarray]`
            For each of `input_names` whole numbers of 64 bits: `question_words` and `passage_words`, shape
            `(batch_size, length)`; `..._characters`, shape `(batch_size, length, word_length)`; `..._lengths`,
            shape `(batch_size,)`, the numbers of words without padding; `..._matches`, shape
            `(batch_size, length)`.

        # Returns

        `Dict[str, numpy.ndarray]`
            By `output_names`, in single precision: `start_logits` and `end_logits`, shape
            `(batch_size, passage_length)`, the smallest number at padding; for models that know of questions
            without an answer `no_answer_logits`, shape `(batch_size, 2)`; and what else was exported.
        """
        try:
            outputs = self._session.run(self.output_names, arrays)
        except Exception as error:
            raise ExportedModelError(f"{self._path}: {_first_line(error)}") from error
        return dict(zip(self.output_names, outputs, strict=True))


def _read(path: Union[str, Path]) -> bytes:
    try:
        if os.path.isdir(path):
            return Path(path, MODEL_NAME).read_bytes()
        if not zipfile.is_zipfile(path):
            return Path(path).read_bytes()
        with zipfile.ZipFile(path) as archive:
            return archive.read(MODEL_NAME)
    except KeyError as error:
        raise ExportedModelError(
            f"{path}: not an exported model, there is no {MODEL_NAME} in it"
        ) from error
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
        raise ExportedModelError(f"{path}: a damaged zip file ({error})") from error
    except OSError as error:
        raise ExportedModelError(f"{path}: {error.strerror or error}") from error


def _count_threads() -> int:
    chosen = os.environ.get("OMP_NUM_THREADS", "")
    if chosen.isdecimal() and int(chosen) > 0:
        return int(chosen)
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _first_line(error: BaseException) -> str:
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0][:300]
