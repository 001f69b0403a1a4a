"""
How tests make archives that nobody should have made.
"""

import io
import json
import tarfile
from pathlib import Path
from typing import Any, Callable, Dict, Optional


def repack(
    archive: Path, target: Path, edit: Callable[[str, bytes], Optional[bytes]], **new: bytes
) -> Path:
    """A copy of an archive with changed members (None: without), and new ones."""
    with tarfile.open(archive) as source, tarfile.open(target, "w:gz") as copy:
        members = {m.name: source.extractfile(m) for m in source if m.isfile()}
        contents = {name: edit(name, file.read()) for name, file in members.items() if file}
        for name, content in {**contents, **new}.items():
            if content is not None:
                add(copy, name, content)
    return target


def add(archive: tarfile.TarFile, name: str, content: bytes, **settings: Any) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(content)
    for key, value in settings.items():
        setattr(member, key, value)
    archive.addfile(member, io.BytesIO(content))


def change_config(change: Callable[[Dict[str, Any]], Any]) -> Callable[[str, bytes], bytes]:
    def edit(name: str, content: bytes) -> bytes:
        if name != "config.json":
            return content
        config = json.loads(content)
        change(config)
        return json.dumps(config).encode()

    return edit


def change_weights(content: bytes) -> Callable[[str, bytes], bytes]:
    return lambda name, old: content if name == "weights.th" else old


def read_member(archive: Path, name: str) -> bytes:
    with tarfile.open(archive) as source:
        content = source.extractfile(name)
        assert content is not None
        return content.read()
