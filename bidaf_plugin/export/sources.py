"""
The program in an exported file: modules of this package that need no AllenNLP, under another name.
"""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import PurePosixPath
from typing import Dict, List

from bidaf_plugin.export import standalone

# Not the name of this package: both may be imported side by side.
PACKAGE = "bidaf_answer"
_IMPORT = re.compile(r"^from (bidaf_plugin[\w.]*) import", re.MULTILINE)


def collect_sources() -> Dict[str, str]:
    """The text of each file: those of `standalone`, and what they import of this package."""
    to_do: List[str] = [
        standalone.__name__,
        *(
            module.name
            for module in pkgutil.iter_modules(standalone.__path__, f"{standalone.__name__}.")
        ),
    ]
    sources: Dict[str, str] = {}
    for name in to_do:
        text = inspect.getsource(import_module(name))
        to_do += [found for found in _IMPORT.findall(text) if found not in to_do]
        sources[_path(name)] = _rename(text)
    # Packages of which only modules are needed: their own files import more.
    for path in list(sources):
        for folder in PurePosixPath(path).parents:
            if folder.name:
                sources.setdefault(str(folder / "__init__.py"), "")
    return sources


def _path(module: str) -> str:
    if module == standalone.__name__:
        return f"{PACKAGE}/__init__.py"
    if module == f"{standalone.__name__}.__main__":
        return "__main__.py"
    return _rename(module).replace(".", "/") + ".py"


def _rename(text: str) -> str:
    return text.replace(standalone.__name__, PACKAGE).replace("bidaf_plugin", PACKAGE)
