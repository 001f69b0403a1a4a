import hashlib
import json
import os
import platform
import zipfile
from importlib.metadata import version
from typing import IO, Any, Dict, Optional

from safetensors.torch import save as save_tensors

from bidaf_plugin.archives.load import load_span_predictor
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.data.tokenizers.treebank_rules import load_rules
from bidaf_plugin.export.describe_network import describe_network
from bidaf_plugin.export.describe_text import describe_tokenizers, describe_vocabulary
from bidaf_plugin.export.sources import collect_sources
from bidaf_plugin.export.standalone import ExportedModel
from bidaf_plugin.export.standalone.artifact import FORMAT, MANIFEST, VERSION
from bidaf_plugin.predictors import SpanPredictor

# Asked before the file gets its name: texts with words, numbers and marks of many kinds.
_PASSAGE = (
    'The "North" mill (1641–1679) wasn\'t built by Ada Orn: it cost US$5.2 million, i.e. 1,000 '
    "well-known people's rent… See https://example.org/mill?id=7 or Dr. Ünal’s 日本 notes.[3] :-)"
)
_QUESTIONS = ("Who built the mill?", "What's well-known about 1641-1679?", "Where's Dr. Ünal?")
_TOLERANCE = 1e-4
_PIECE_SETTINGS = ("max_tokens", "stride", "passage_weight", "piece_tokens")


def export_archive(
    archive: str,
    out: str,
    max_answer_length: Optional[int] = None,
    pretrained_file: Optional[str] = None,
) -> Dict[str, Any]:
    """
    Writes the model of an archive into one file that answers questions without AllenNLP.

    # Parameters

    archive : `str`
    out : `str`
        The file to write: see `export_predictor`.
    max_answer_length : `int`, optional (default = `None`)
        See `SpanPredictor`.
    pretrained_file : `str`, optional (default = `None`)
        See `SpanPredictor`. The file then holds all of these words.

    # Returns

    `Dict[str, Any]`
        The manifest of the file.
    """
    predictor = load_span_predictor(
        archive, max_answer_length=max_answer_length, pretrained_file=pretrained_file
    )
    origin = {"archive": os.path.basename(os.path.abspath(archive))}
    if os.path.isfile(archive):
        with open(archive, "rb") as file:
            origin["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    return export_predictor(predictor, out, origin)


def export_predictor(
    predictor: SpanPredictor, out: str, origin: Optional[Dict[str, str]] = None
) -> Dict[str, Any]:
    """
    Writes a predictor into one file that answers questions without AllenNLP. The file is either whole,
    and has given the predictor's answers to a few questions, or not there.

    # Parameters

    predictor : `SpanPredictor`
    out : `str`
        The file to write. It is a zip file that Python can run; unpacked, its folder does as well.
    origin : `Dict[str, str]`, optional (default = `None`)
        What the manifest says about where the model comes from.

    # Returns

    `Dict[str, Any]`
        The manifest of the file.
    """
    files = _make_files(predictor)
    manifest = {
        "format": FORMAT,
        "version": VERSION,
        "origin": origin or {},
        "made_with": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("bidaf_plugin", "torch", "safetensors", "spacy")},
        },
        "needs": ["torch", "numpy", "safetensors"],
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in files.items()},
    }
    with open_atomically(out, "wb") as file:
        _write_zip(file, {MANIFEST: _to_json(manifest), **files})
        file.flush()
        _compare_answers(predictor, ExportedModel(file.name))
    return manifest


def _make_files(predictor: SpanPredictor) -> Dict[str, bytes]:
    reader, model = predictor._dataset_reader, predictor._model
    tokenizers = describe_tokenizers(reader)
    network = describe_network(model, reader._token_indexers)
    decoder = model._output_layer.decoder
    settings = {
        **tokenizers,
        "network": network.settings,
        "pieces": dict(zip(_PIECE_SETTINGS, predictor.piece_settings(), strict=True)),
        "max_answer_length": decoder.max_answer_length,
        "no_answer_threshold": decoder.no_answer_threshold,
    }
    namespaces = [embedder["namespace"] for embedder in network.settings["embedders"]]
    return {
        **{name: source.encode("utf-8") for name, source in collect_sources().items()},
        "settings.json": _to_json(settings),
        "tokenizer.json": _to_json(load_rules()),
        "vocabulary.json": _to_json(describe_vocabulary(model.vocab, namespaces)),
        "weights.safetensors": save_tensors(network.tensors),
    }


def _to_json(content: Any) -> bytes:
    return json.dumps(content, ensure_ascii=False, indent=1).encode("utf-8")


def _write_zip(file: IO[bytes], files: Dict[str, bytes]) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            # The same date for all, so that the same model gives the same bytes.
            entry = zipfile.ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o644 << 16
            # Numbers hardly become smaller, and loading them should not take longer.
            is_tensors = name.endswith(".safetensors")
            compression = zipfile.ZIP_STORED if is_tensors else zipfile.ZIP_DEFLATED
            archive.writestr(entry, content, compression)


def _compare_answers(predictor: SpanPredictor, exported: ExportedModel) -> None:
    records = [{"question": question, "passage": _PASSAGE} for question in _QUESTIONS]
    expected_answers = predictor.predict_batch_json(records)
    for expected, answer in zip(expected_answers, exported.answer_all(records), strict=True):
        difference = abs(answer["confidence"] - expected["confidence"])
        if answer["best_span"] != expected["best_span"] or difference > _TOLERANCE:
            raise DataError(
                f"the model cannot be exported: it would answer {answer}, and not {expected}"
            )
