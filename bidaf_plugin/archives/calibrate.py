import io
import json
import os
import tarfile
import zlib
from gzip import BadGzipFile
from typing import Any, Callable, Dict

from allennlp.models.archival import CONFIG_NAME

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.common.tar_files import read_tar_gz


def divide_logits(archive: str, new_archive: str, factor: float) -> float:
    """
    Writes an archive whose model divides its logits by `factor`, after what it did so far.

    # Returns

    `float`
        The temperature that is now in its config, at `model.output_layer.temperature`.
    """
    temperatures = []

    def change(config: Dict[str, Any]) -> None:
        output_layer = config.get("model", {}).get("output_layer")
        if not isinstance(output_layer, dict):
            raise DataError(
                f"{archive}: the config has no 'model.output_layer' to put a temperature in"
            )
        output_layer["temperature"] = factor * output_layer.get("temperature", 1.0)
        temperatures.append(output_layer["temperature"])

    rewrite_config(archive, new_archive, change)
    return temperatures[0]


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
            open_atomically(new_archive, "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as target,
        ):
            is_changed = False
            for member, content in read_tar_gz(archive, archive):
                if content is not None and os.path.normpath(member.name) == CONFIG_NAME:
                    config = json.load(content)
                    change(config)
                    changed = json.dumps(config, indent=4).encode("utf-8")
                    member.size, content = len(changed), io.BytesIO(changed)
                    is_changed = True
                target.addfile(member, content)
            if not is_changed:
                raise DataError(f"{archive}: there is no {CONFIG_NAME} in the archive")
    except (tarfile.TarError, EOFError, zlib.error, BadGzipFile, json.JSONDecodeError) as error:
        raise DataError(f"{archive}: the archive is truncated or damaged ({error})") from error
