import hashlib
import json
import zipfile
import zlib
from pathlib import Path
from typing import Any, Dict, Union

from bidaf_plugin.export.standalone.errors import ExportedModelError

FORMAT = "bidaf_answer"
# Raised when an older loader could not read what is written.
VERSION = 1
MANIFEST = "manifest.json"


class Artifact:
    """
    The files of an exported model: a zip file, or the folder that it was unpacked to.

    # Parameters

    path : `Union[str, Path]`
    """

    def __init__(self, path: Union[str, Path]) -> None:
        self._path = Path(path)
        content = self._read_unchecked(MANIFEST)
        try:
            manifest = json.loads(content)
            is_ours = manifest["format"] == FORMAT and isinstance(manifest["version"], int)
        except (ValueError, LookupError, TypeError, RecursionError):
            is_ours = False
        if not is_ours:
            raise ExportedModelError(f"{path}: its {MANIFEST} is not that of an exported model")
        if manifest["version"] > VERSION:
            raise ExportedModelError(
                f"{path}: format version {manifest['version']}; this program reads up to {VERSION}"
            )
        self.manifest: Dict[str, Any] = manifest
        checksums = manifest.get("sha256")
        self._checksums: Dict[str, str] = checksums if isinstance(checksums, dict) else {}

    def read(self, name: str) -> bytes:
        """A file, which is as it was written."""
        content = self._read_unchecked(name)
        if hashlib.sha256(content).hexdigest() != self._checksums.get(name):
            raise ExportedModelError(f"{self._path}: {name} is damaged (its checksum is wrong)")
        return content

    def read_json(self, name: str) -> Any:
        return json.loads(self.read(name))

    def _read_unchecked(self, name: str) -> bytes:
        try:
            if self._path.is_dir():
                return (self._path / name).read_bytes()
            with zipfile.ZipFile(self._path) as archive:
                return archive.read(name)
        except (KeyError, FileNotFoundError) as error:
            if not self._path.exists():
                raise ExportedModelError(f"{self._path}: there is no such file") from error
            raise ExportedModelError(
                f"{self._path}: not an exported model, there is no {name} in it"
            ) from error
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise ExportedModelError(
                f"{self._path}: not an exported model, or a damaged one ({error})"
            ) from error
