"""
Small damages to files, drawn at random: to bytes, to what a JSON file holds, and to tar files.
"""

import json
import math
from copy import deepcopy
from random import Random
from typing import Any, List, Tuple

# What `to_json` writes for these is more than Python's own `json.dumps` would.
_DEEP, _DIGITS = "<deep>", "<digits>"
_OTHER_VALUES: Tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 7, -1, 0.5, -0.5, 1e308, math.nan, math.inf, -math.inf),
    *(2**31, 2**63, -(2**63), 10**30, _DIGITS, _DEEP),
    *("", " ", "x", "0", "\0", "\ud800", "é\n", "../x", "x" * 100_000, "(" * 3_000),
    *([], {}, [[]], [1, "x"], [None], {"type": "x"}, {"x": None}),
)


class _SameKey(str):
    """A key that a dictionary takes for another one, so that the JSON has it twice."""

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        return self is other


def mutate_bytes(random: Random, content: bytes) -> bytes:
    """One to four stretches flipped, cut, inserted, duplicated or zeroed."""
    for _ in range(random.randint(1, 4)):
        start = random.randrange(len(content) + 1)
        # Mostly short: what is damaged a little gets further.
        end = min(len(content), start + int(2 ** random.uniform(0, 10)))
        stretch = content[start:end]
        kind = random.choice(["flip", "cut", "insert", "duplicate", "zero", "truncate"])
        if kind == "flip":
            stretch = bytes(byte ^ (1 << random.randrange(8)) for byte in stretch[:4]) + stretch[4:]
        elif kind == "insert":
            stretch = random.randbytes(random.randint(1, 16)) + stretch
        elif kind == "duplicate":
            stretch += stretch
        elif kind == "zero":
            stretch = bytes(len(stretch))
        else:
            stretch = b""
        content = content[:start] + stretch + (b"" if kind == "truncate" else content[end:])
    return content


def mutate_json(random: Random, value: Any) -> Any:
    """The same with one to three values, keys or items changed, removed or added."""
    # In a list, so that the whole can be replaced like any part of it.
    top = [deepcopy(value)]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        container, key = _find_place(random, top, share_of_branches=0.03)
        other_container, other_key = _find_place(random, top)
        kind = random.choice(["replace", "replace", "replace", "copy", "remove", "add", "change"])
        if kind == "replace":
            container[key] = deepcopy(random.choice(_OTHER_VALUES))
        elif kind == "copy":
            container[key] = deepcopy(other_container[other_key])
        elif kind == "change":
            container[key] = _change(random, container[key])
        elif container is top:
            top[0] = random.choice(_OTHER_VALUES)
        elif kind == "remove":
            del container[key]
        elif isinstance(container, list):
            container.insert(key, deepcopy(other_container[other_key]))
        else:
            new_key = random.choice([_SameKey(key), str(other_key), "x", ""])
            # Under a new name instead of the old one, or besides.
            add = container.pop if random.random() < 0.5 else container.get
            container[new_key] = add(key)
    return top[0]


def _find_place(random: Random, container: Any, share_of_branches: float = 0.1) -> Tuple[Any, Any]:
    """The container and the key, or index, of some value: small branches are as likely as large ones."""
    key = random.choice(list(container) if isinstance(container, dict) else range(len(container)))
    value = container[key]
    if value and isinstance(value, (dict, list)) and random.random() > share_of_branches:
        return _find_place(random, value)
    return container, key


def _change(random: Random, value: Any) -> Any:
    """A little other value of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, (int, float)):
        return random.choice([-value, value + 1, value - 1, value * 10, value / 2, str(value)])
    if isinstance(value, str):
        return random.choice([value[: len(value) // 2], value + value, value.upper(), [value]])
    if isinstance(value, list):
        return random.choice([value[1:], value + value, value[::-1], dict(enumerate(value))])
    return random.choice([[value], list(value), dict(reversed(value.items()))])


def to_json(value: Any) -> bytes:
    text = json.dumps(value, skipkeys=True)
    text = text.replace(json.dumps(_DEEP), "[" * 100_000 + "]" * 100_000)
    return text.replace(json.dumps(_DIGITS), "9" * 5_000).encode("utf-8")


_BLOCK = 512
_NAMES = (
    b"",
    b".",
    b"..",
    b"../x",
    b"/../x",
    b"x/" * 45,
    b"config.json",
    b"weights.th",
    b"\xff\xfe",
)
_SIZES = (b"77777777777\0", b"\xff" * 12, b"\x80" + b"\x7f" * 11, b"\0" * 12, b"x" * 12, b"1" * 12)
_TYPES = b"01234567gxLKSV\0\xff"


def mutate_tar(random: Random, content: bytes) -> bytes:
    """The same tar file, not compressed, with other members in another order, or other heads."""
    members = _split_tar(content)
    for _ in range(random.choice([1, 1, 2])):
        index = random.randrange(len(members))
        kind = random.choice(["remove", "duplicate", "shuffle", "name", "size", "type", "link"])
        if kind == "remove" and len(members) > 1:
            del members[index]
        elif kind == "duplicate":
            members.insert(0, members[index])
        elif kind == "shuffle":
            random.shuffle(members)
        elif kind == "name":
            members[index] = _set_field(members[index], 0, random.choice(_NAMES).ljust(100, b"\0"))
        elif kind == "size":
            members[index] = _set_field(members[index], 124, random.choice(_SIZES))
        elif kind == "type":
            members[index] = _set_field(members[index], 156, bytes([random.choice(_TYPES)]))
        else:
            link = random.choice(_NAMES).ljust(100, b"\0")
            head = _set_field(members[index], 156, random.choice([b"1", b"2"]))
            members[index] = _set_field(head, 157, link)
    return b"".join(members) + bytes(2 * _BLOCK)


def _split_tar(content: bytes) -> List[bytes]:
    """The members, each with its head."""
    members = []
    start = 0
    while content[start : start + 1].strip(b"\0"):
        size = int(content[start + 124 : start + 135].rstrip(b" \0"), 8)
        end = start + _BLOCK + -(-size // _BLOCK) * _BLOCK
        members.append(content[start:end])
        start = end
    return members


def _set_field(member: bytes, start: int, value: bytes) -> bytes:
    """With the checksum that it then has, without which nothing else is looked at."""
    head = bytearray(member[:_BLOCK])
    head[start : start + len(value)] = value
    head[148:156] = b" " * 8
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head) + member[_BLOCK:]
