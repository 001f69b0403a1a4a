import json
from typing import Any, Callable, List, Optional, Tuple

PairsHook = Callable[[List[Tuple[str, Any]]], Any]


def read_json(text: str, object_pairs_hook: Optional[PairsHook] = None) -> Any:
    """
    What JSON text holds. Python also takes NaN and Infinity, and makes Infinity of `1e999`; as nothing
    else can read them, they are a `ValueError` here. For the hook see `json.loads`.
    """
    return json.loads(
        text,
        parse_constant=_refuse,
        parse_float=_read_number,
        object_pairs_hook=object_pairs_hook,
    )


def _refuse(text: str) -> None:
    raise ValueError(f"there are no numbers like {text:.20}")


def _read_number(text: str) -> float:
    number = float(text)
    if abs(number) == float("inf"):
        _refuse(text)
    return number
