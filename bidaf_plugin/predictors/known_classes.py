"""
Archives may come from anywhere, and where AllenNLP's configs have a registered name it also takes that of
any class or function: "subprocess.Popen", which it imports and calls. Not in archives.
"""

import sys
from contextlib import contextmanager
from contextvars import ContextVar
from os import PathLike
from typing import Any, Iterator, Optional, Tuple, Type, Union

from allennlp.common import Registrable

from bidaf_plugin.common.errors import DataError

_archive: ContextVar[Optional[str]] = ContextVar("archive", default=None)
_resolve_class_name: Any = Registrable.resolve_class_name


@contextmanager
def only_known_classes(archive_path: Union[str, "PathLike[str]"]) -> Iterator[None]:
    """
    While this lasts, what configs may name are classes that are registered, and classes of modules that
    are imported, if they are what the place in the config is for.

    # Parameters

    archive_path : `Union[str, PathLike]`
        Whose config it is, for the message.
    """
    token = _archive.set(str(archive_path))
    try:
        yield
    finally:
        _archive.reset(token)


def _resolve_known_class(
    cls: Type[Registrable], name: str
) -> Tuple[Type[Registrable], Optional[str]]:
    archive = _archive.get()
    if archive is not None and name not in Registrable._registry[cls] and "." in name:
        module, _, class_name = name.rpartition(".")
        found = getattr(sys.modules.get(module), class_name, None)
        if not (isinstance(found, type) and issubclass(found, cls)):
            raise DataError(
                f"{archive}: its config names {name!r:.60} as a {cls.__name__}, which is not known as one; "
                "it is not loaded"
            )
    return _resolve_class_name.__func__(cls, name)


def install_class_check() -> None:
    """Makes AllenNLP look up names this way."""
    Registrable.resolve_class_name = classmethod(_resolve_known_class)  # type: ignore[assignment]
