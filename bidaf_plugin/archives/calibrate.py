import io
import json
import os
import tarfile
import zlib
from gzip import BadGzipFile
from typing import Optional

from allennlp.models.archival import CONFIG_NAME

from bidaf_plugin.common.errors import DataError
from bidaf_plugin.common.files import open_atomically
from bidaf_plugin.common.tar_files import read_tar_gz


def divide_logits(archive: str, new_archive: str, factor: float) -> float:
    """
    Writes an archive whose model divides its logits by `factor`, after what it did so far. All but the
    config stays as it is, byte for byte.

    # Parameters

    archive : `str`
    new_archive : `str`
        May be the same as `archive`. It is either whole or not there.
    factor : `float`

    # Returns

    `float`
        The temperature that is now in its config, at `model.output_layer.temperature`.
    """
    temperature: Optional[float] = None
    try:
        with (
            open_atomically(new_archive, "wb") as file,
            tarfile.open(fileobj=file, mode="w:gz", compresslevel=6) as target,
        ):
            for member, content in read_tar_gz(archive, archive):
                if content is not None and os.path.normpath(member.name) == CONFIG_NAME:
                    config = json.load(content)
                    output_layer = config.get("model", {}).get("output_layer")
                    if not isinstance(output_layer, dict):
                        raise DataError(
                            f"{archive}: the config has no 'model.output_layer' to put a temperature in"
                        )
                    temperature = factor * output_layer.get("temperature", 1.0)
                    output_layer["temperature"] = temperature
                    changed = json.dumps(config, indent=4).encode("utf-8")
                    member.size, content = len(changed), io.BytesIO(changed)
                target.addfile(member, content)
            if temperature is None:
                raise DataError(f"{archive}: there is no {CONFIG_NAME} in the archive")
    except (tarfile.TarError, EOFError, zlib.error, BadGzipFile, json.JSONDecodeError) as error:
        raise DataError(f"{archive}: the archive is truncated or damaged ({error})") from error
    return temperature
