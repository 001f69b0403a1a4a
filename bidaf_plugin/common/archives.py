import io
import json
import os
import tarfile
import zlib
from typing import Any, Callable, Dict

from allennlp.models.archival import CONFIG_NAME

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically


def rewrite_config(
    archive: str, new_archive: str, change: Callable[[Dict[str, Any]], None]
) -> None:
    """
    Writes an archive with another config.json; everything else in it stays as it is, byte for byte.

    # Parameters

    archive : `str`
    new_archive : `str`
        May be the same as `archive`. It is either whole or not there.
    change : `Callable[[Dict[str, Any]], None]`
        Changes the config.
    """
    try:
        with (
            tarfile.open(archive, "r:gz") as source,
            open_atomically(new_archive, "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as target,
        ):
            is_changed = False
            for member in source:
                content = source.extractfile(member) if member.isfile() else None
                if content is not None and os.path.normpath(member.name) == CONFIG_NAME:
                    config = json.load(content)
                    change(config)
                    changed = json.dumps(config, indent=4).encode("utf-8")
                    member.size, content = len(changed), io.BytesIO(changed)
                    is_changed = True
                target.addfile(member, content)
            if not is_changed:
                raise DataError(f"{archive}: there is no {CONFIG_NAME} in the archive")
    except (tarfile.TarError, EOFError, zlib.error, json.JSONDecodeError) as error:
        raise DataError(f"{archive}: the archive is truncated or damaged ({error})") from error
