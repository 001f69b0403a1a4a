"""
Records of questions: JSON objects with `question`, `passage` (`context` will do, too) or a list of
`passages` and, if wanted, `id` (`qid` will do, too).
"""

from typing import Any, Dict, List

from bidaf_plugin.common.files import read_json
from bidaf_plugin.export.standalone.errors import ExportedModelError

Record = Dict[str, Any]


def passages_of(record: Record) -> List[str]:
    """The passages of a question, of which there may be one."""
    passages = record.get("passages")
    return [_single_passage(record)] if passages is None else passages


def _single_passage(record: Record) -> Any:
    passage = record.get("passage")
    return record.get("context") if passage is None else passage


def id_of(record: Record) -> Any:
    id = record.get("id", record.get("qid"))
    return "" if id is None else id


def parse_record(line: bytes) -> Record:
    try:
        record = read_json(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExportedModelError(f"not JSON ({error})") from error
    check_record(record)
    return record


def check_record(record: Any) -> None:
    """Raises an `ExportedModelError` that says what is wrong with a question, if anything is."""
    if not isinstance(record, dict):
        raise ExportedModelError(
            f"expected a JSON object with 'question' and 'passage', found {record!r:.60}"
        )
    texts = {"question": record.get("question")}
    passages = record.get("passages")
    if passages is None:
        texts["passage"] = _single_passage(record)
    elif _single_passage(record) is not None:
        raise ExportedModelError("there are both 'passage' and 'passages'; expected one of them")
    elif not isinstance(passages, list) or not passages:
        raise ExportedModelError(f"'passages' must be a list of strings, found {passages!r:.60}")
    else:
        texts.update({f"passages[{index}]": text for index, text in enumerate(passages)})
    for name, text in texts.items():
        if text is None:
            raise ExportedModelError(f"{name!r} is missing or null; found {sorted(record)!r:.200}")
        if not isinstance(text, str):
            raise ExportedModelError(f"{name!r} must be a string, found {text!r:.60}")
        if not text.strip():
            raise ExportedModelError(f"{name!r} is empty")
        if any("\ud800" <= character <= "\udfff" for character in text):
            raise ExportedModelError(f"{name!r}: half a character (a lone surrogate)")
