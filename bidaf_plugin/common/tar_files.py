"""
Tar archives from anywhere. Python's own reader believes what their headers say: with a negative size it
goes around in circles, and a header of a gigabyte is read into memory.
"""

import gzip
import os
import tarfile
from os import PathLike
from pathlib import PurePosixPath
from typing import IO, Iterator, Optional, Tuple, Union

from bidaf_plugin.common.errors import DataError

# What a header for a long name or the like may hold, and all headers of an archive together.
_MAX_HEADER_BYTES = 64 * 1024
_MAX_HEADERS_BYTES = 4 * 1024**2
# Those that tarfile reads into memory.
_EXTENDED_HEADERS = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
# Beyond this no file can be read: there are no numbers for places in it.
MAX_FILE_BYTES = 1 << 62
# What an archive may hold, unpacked: far more than a model of this plugin has, and far more than numbers
# that are not all the same can be compressed.
_MAX_BYTES = 16 * 1024**3
_MAX_COMPRESSION = 50
_ALWAYS_ALLOWED_BYTES = 64 * 1024**2


class BoundedTarInfo(tarfile.TarInfo):
    """For `tarfile.open(..., tarinfo=BoundedTarInfo)`: a header whose size cannot be right is damage."""

    @classmethod
    def frombuf(cls, buf: Union[bytes, bytearray], encoding: str, errors: str) -> "BoundedTarInfo":
        header = super().frombuf(buf, encoding, errors)
        limit = _MAX_HEADER_BYTES if header.type in _EXTENDED_HEADERS else MAX_FILE_BYTES
        if not 0 <= header.size <= limit:
            raise tarfile.ReadError(f"a header of {header.size:,} bytes")
        return header


def read_tar_gz(
    path: Union[str, "PathLike[str]"], name: object
) -> Iterator[Tuple[tarfile.TarInfo, Optional[IO[bytes]]]]:
    """
    The members of a gzipped tar archive in their order, each with its content (None for a folder), which
    must be read before the next is asked for. Nothing leads out of the archive: it has no links, no
    devices and no paths to other places.

    # Parameters

    path : `Union[str, PathLike]`
    name : `object`
        What messages call the archive.

    # Raises

    `DataError` for what should not be in an archive, and one of `DAMAGES` where it is truncated or damaged.
    """
    limit = min(_MAX_BYTES, _ALWAYS_ALLOWED_BYTES + _MAX_COMPRESSION * os.path.getsize(path))
    num_bytes = 0
    # As a stream: never backwards, whatever sizes a header claims.
    with (
        gzip.open(path) as stream,
        tarfile.open(fileobj=stream, mode="r|", bufsize=1 << 18, tarinfo=BoundedTarInfo) as archive,
    ):
        for member in archive:
            parts = PurePosixPath(member.name).parts
            is_plain = (member.isfile() and not member.issparse()) or member.isdir()
            if member.name.startswith("/") or ".." in parts or not is_plain:
                raise DataError(
                    f"{name}: {member.name!r:.60} leads out of the archive; it is not extracted"
                )
            if member.offset_data - num_bytes > _MAX_HEADERS_BYTES or member.size < 0:
                raise tarfile.ReadError("its headers are too large")
            num_bytes += member.size
            if num_bytes > limit:
                raise DataError(f"{name}: more than {limit / 1024**2:,.0f} MB when unpacked")
            yield member, archive.extractfile(member)
