import zipfile
from pathlib import Path
from typing import IO, Any, Dict, List, Optional, Tuple

import numpy
import torch

from bidaf_plugin import runtime
from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common import files as common_files
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.data.dataset_readers import BidafSquadReader
from bidaf_plugin.export.describe_text import describe_settings, describe_vocabulary
from bidaf_plugin.export.onnx_file import OPSET, shrink, to_bytes, trace
from bidaf_plugin.export.plain_network import PlainNetwork, check_type, make_arrays
from bidaf_plugin.predictors import SpanPredictor
from bidaf_plugin.runtime.errors import ExportedModelError
from bidaf_plugin.runtime.exported_model import Distribution, ExportedModel
from bidaf_plugin.runtime.session import FORMAT, MODEL_NAME

# Asked before the file gets its name: texts with words, numbers and marks of many kinds, no two of the same length.
_PASSAGE = (
    'The "North" mill (1641–1679) wasn\'t built by Ada Orn: it cost US$5.2 million, i.e. 1,000 '
    "well-known people's rent… See https://example.org/mill?id=7 or Dr. Ünal’s 日本 notes.[3] :-)"
)
_RECORDS = [
    {"question": "Who built the mill?", "passage": _PASSAGE},
    {"question": "What's well-known about 1641-1679?", "passage": _PASSAGE[:70]},
    {"question": "Where's Dr. Ünal?", "passage": "Ünal"},
]
# How far a logit may be from that of the archive, for each 1 of its size and at the least.
_TOLERANCE = 1e-4
# How far a probability may be, in eight bits.
_TOLERANCE_OF_INT8 = 0.05
# The name of `bidaf_plugin.runtime` in a zip file: both may be imported side by side.
PACKAGE = "bidaf_answer"


def export_archive(
    archive: str,
    out: str,
    max_answer_length: Optional[int] = None,
    pretrained_file: Optional[str] = None,
    **options: Any,
) -> None:
    """
    Writes the model of an archive into a file that answers questions without AllenNLP and torch.

    # Parameters

    archive : `str`
    out : `str`
        The file to write: see `export_predictor`.
    max_answer_length : `int`, optional (default = `None`)
        See `SpanPredictor`.
    pretrained_file : `str`, optional (default = `None`)
        See `SpanPredictor`. The file then holds all of these words.
    options : `Any`
        What `export_predictor` takes.
    """
    predictor = load_span_predictor(
        archive, max_answer_length=max_answer_length, pretrained_file=pretrained_file
    )
    export_predictor(predictor, out, **options)


def export_predictor(
    predictor: SpanPredictor,
    out: str,
    int8: bool = False,
    attention: bool = False,
    licence: Optional[str] = None,
    card: Optional[str] = None,
) -> None:
    """
    Writes a predictor's network and what it needs to know of texts into one file. The file is either whole, and
    has given what the predictor gives for a few questions, or not there.

    # Parameters

    predictor : `SpanPredictor`
    out : `str`
        The file to write: a network in the format ONNX if its name ends with `.onnx`, and otherwise a zip file
        with that and a program, which Python can run.
    int8 : `bool`, optional (default = `False`)
        Whether weights and word vectors are rounded to eight bits, which makes the file smaller.
    attention : `bool`, optional (default = `False`)
        Whether what the passage attends to is among the outputs.
    licence, card : `str`, optional (default = `None`)
        Under which terms the model may be used, and what it is; kept in the file.
    """
    check_type(predictor, (SpanPredictor,), "the predictor")
    reader, model = predictor._dataset_reader, predictor._model
    check_type(reader, (BidafSquadReader,), "the dataset reader")
    indexers = reader._token_indexers
    network = PlainNetwork(model, indexers, attention)
    kinds = network.kind_of_indexer
    settings = {**describe_settings(predictor, kinds), "opset": OPSET}
    metadata = {
        "format": FORMAT,
        "settings": settings,
        "vocabulary": describe_vocabulary(model.vocab, indexers, kinds),
        "licence": licence,
        "card": card,
    }
    instances = [question.instances[0] for question in predictor.make_questions(_RECORDS)]
    # This looks up the indices, too.
    expected = [predictor.run_model(batch) for batch in _batches(instances)]
    graph = trace(network, make_arrays(instances, kinds))
    shrink(graph, int8)
    content = to_bytes(graph, metadata)
    with open_atomically(out, "wb") as file:
        if out.endswith(".onnx"):
            file.write(content)
        else:
            _write_zip(file, content)
        file.flush()
        try:
            exported = ExportedModel(file.name, num_threads=torch.get_num_threads())
            for records, output_dict in zip(_batches(_RECORDS), expected, strict=True):
                pairs = [(record["question"], record["passage"]) for record in records]
                for row, distribution in enumerate(exported.distributions(pairs)):
                    _compare(pairs[row], distribution, output_dict, row, int8)
        except ExportedModelError as error:
            raise DataError(f"the model cannot be exported: {error}") from error


def _batches(items: List[Any]) -> List[List[Any]]:
    """All together, where all but the longest are padded, and one by one."""
    return [items, *([item] for item in items)]


def _compare(
    pair: Tuple[str, str],
    distribution: Distribution,
    output_dict: Dict[str, Any],
    row: int,
    int8: bool,
) -> None:
    """Raises an error if the file has another opinion on a question than the model."""
    lowest = torch.finfo(torch.float32).min
    for name, found in distribution._asdict().items():
        if found is None:
            continue
        logits = output_dict[name if name == "no_answer_logits" else f"span_{name}"][row].cpu()
        expected = logits[logits > lowest].numpy()
        if len(found) != len(expected):
            raise DataError(
                f"the model cannot be exported: {pair[1]!r:.60} would be cut into other words"
            )
        if int8:
            found, expected = _softmax(numpy.array(found)), _softmax(expected)
        differences = numpy.abs(found - expected)
        tolerance = _TOLERANCE_OF_INT8 if int8 else _TOLERANCE * (1 + numpy.abs(expected))
        # Not a number is not near either.
        if not (differences <= tolerance).all():
            raise DataError(
                f"the model cannot be exported: in ONNX, {name} of {pair[0]!r} would differ by "
                f"{differences.max():.1e}"
            )


def _softmax(logits: numpy.ndarray) -> numpy.ndarray:
    shares = numpy.exp(logits - logits.max())
    return shares / shares.sum()


def _write_zip(file: IO[bytes], model: bytes) -> None:
    """The network, and `bidaf_plugin.runtime` under another name, with the one module that it needs beside."""
    folder = Path(runtime.__file__).parent
    files = {MODEL_NAME: model}
    for path in [*sorted(folder.glob("*.py")), Path(common_files.__file__)]:
        text = path.read_text(encoding="utf-8")
        for module in (runtime.__name__, common_files.__name__.rpartition(".")[0]):
            text = text.replace(module, PACKAGE)
        is_program = path.name == "__main__.py"
        files[path.name if is_program else f"{PACKAGE}/{path.name}"] = text.encode("utf-8")
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            # The same date for all, so that the same model gives the same bytes.
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
