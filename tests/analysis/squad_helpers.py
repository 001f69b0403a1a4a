"""
SQuAD files that tests write.
"""

import json
from pathlib import Path
from typing import Any, Dict, Optional, Sequence

PASSAGE = "Ada Orn built the mill in 1871. It burned down twice. Jon Ber paid for the quay."


def squad(*questions: Dict[str, Any]) -> Dict[str, Any]:
    return {"data": [{"title": "T", "paragraphs": [{"context": PASSAGE, "qas": list(questions)}]}]}


def question(
    id: str,
    answers: Sequence[str] = ("Ada Orn",),
    text: str = "Who built the mill?",
    is_impossible: Optional[bool] = None,
) -> Dict[str, Any]:
    record: Dict[str, Any] = {
        "id": id,
        "question": text,
        "answers": [{"text": item, "answer_start": PASSAGE.index(item)} for item in answers],
    }
    if is_impossible is not None:
        record["is_impossible"] = is_impossible
    return record


def write(path: Path, value: Any) -> str:
    path.write_text(json.dumps(value))
    return str(path)
