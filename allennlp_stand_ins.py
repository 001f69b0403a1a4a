"""
AllenNLP imports at start what models of this kind never use: transformers with BERT, scipy, nltk,
fairscale, torchvision, ... They would take most of the time of a start and half of the disk space.
This module puts those imports off: AllenNLP's own modules get light stand-ins, and the real package is
imported when something of it is called. Where it is not installed, one sentence says what to install.

Only the `import` statements of AllenNLP's modules are answered so: each of them is run with an
`__import__` of its own. Nothing is put into `sys.modules`, so everybody else's `import transformers`
gives the real package, or the usual `ModuleNotFoundError`.

The first thing that AllenNLP imports is transformers, so this must be in place before: a .pth file
beside the packages (see setup.py) has Python call `install` when it starts. It works therefore in the
`allennlp` command, in the workers it spawns, in pytest and in notebooks alike; and it must be light
(it does without `typing`) and never raise.

The plugin itself is found in the same way: AllenNLP looks for plugins in files of the working folder and of
the user's home, and asks one function for their names, which then also names `bidaf_plugin`.

With `ALLENNLP_STAND_INS=missing` in the environment only what is not installed gets stand-ins, the plugin is
found through those files alone, and AllenNLP starts as slowly as it does without this package: for comparisons.
"""

from __future__ import annotations

import builtins
import os
import sys
from importlib import import_module
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from types import ModuleType
    from typing import Any, Optional

_ONLY_MISSING = os.environ.get("ALLENNLP_STAND_INS") == "missing"
# The packages that are put off, and what to install for them.
INSTALL_NAMES = {
    "cached_path": "bidaf_plugin",
    "fairscale": "bidaf_plugin[allennlp]",
    "h5py": "bidaf_plugin[allennlp]",
    "huggingface_hub": "bidaf_plugin",
    "lmdb": "bidaf_plugin[allennlp]",
    "nltk": "bidaf_plugin[allennlp]",
    "onnx": "bidaf_plugin[onnx]",
    "onnxruntime": "bidaf_plugin[onnx]",
    "ray": "bidaf_plugin[cluster]",
    "scipy": "bidaf_plugin[analysis]",
    "sklearn": "bidaf_plugin[analysis]",
    "spacy": "bidaf_plugin",
    "tensorboardX": "bidaf_plugin[allennlp]",
    "torchvision": "torchvision",
    "transformers": "bidaf_plugin[transformers]",
}


class _StandIn:
    """
    Stands for something of a package that is not imported yet, like `transformers.AutoModel`: the
    module that an import statement names, and the attributes that were asked of it since. It can do
    what AllenNLP does with modules, classes, functions and tables of these packages.
    """

    def __init__(self, module: str, *attributes: str) -> None:
        self._module = module
        self._attributes = attributes

    def _get_real(self) -> Any:
        if "_real" not in self.__dict__:
            path = self._module
            package = path.partition(".")[0]
            try:
                real: Any = import_module(path)
                for attribute in self._attributes:
                    path = f"{path}.{attribute}"
                    # A package need not have imported the modules in it.
                    has_it = hasattr(real, attribute)
                    real = getattr(real, attribute) if has_it else import_module(path)
            except ModuleNotFoundError as error:
                if error.name == package:
                    message = f"{package} is not installed: pip install '{INSTALL_NAMES[package]}'"
                elif error.name == path:
                    message = f"the installed {package} has no {path}, which AllenNLP wants to use"
                else:
                    raise
                raise ModuleNotFoundError(message, name=error.name) from None
            self._real = real
        return self._real

    def __getattr__(self, name: str) -> Any:
        if name == "__version__":
            return self._get_real().__version__
        if name.startswith("__"):
            raise AttributeError(name)
        stand_in = self.__dict__[name] = _StandIn(self._module, *self._attributes, name)
        return stand_in

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._get_real()(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self._get_real()[key]

    def __instancecheck__(self, instance: Any) -> bool:
        # Of a class that nobody has imported there are no objects.
        return self._module in sys.modules and isinstance(instance, self._get_real())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        """A class to derive from, which itself is derived from the real one as of its first object."""

        class Base(_Nothing):
            def __new__(cls, *args: Any, **kwargs: Any) -> Any:
                if Base.__bases__ == (_Nothing,):
                    Base.__bases__ = (self._get_real(),)
                return super().__new__(cls)

        return (Base,)


class _Nothing:
    """Python can give a class another base, unless it is `object`."""


def _import(
    name: str,
    globals: Optional[dict[str, Any]] = None,
    locals: Optional[Mapping[str, Any]] = None,
    fromlist: Sequence[str] = (),
    level: int = 0,
) -> Any:
    """`__import__` for AllenNLP's modules, and for `spacy`."""
    package = name.partition(".")[0]
    if level == 0 and package in INSTALL_NAMES and not (_ONLY_MISSING and _is_installed(package)):
        return _StandIn(name if fromlist else package)
    if level == 1 and name == "cli.info" and globals is not None and not _ONLY_MISSING:
        # Half of spaCy's start is its command line, which it imports for one function, `spacy.info`.
        globals["cli"] = _StandIn("spacy.cli")
        return _StandIn("spacy.cli.info")
    return builtins.__import__(name, globals, locals, fromlist, level)


def _is_installed(package: str) -> bool:
    try:
        return bool(import_module(package))
    except ModuleNotFoundError:
        return False


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        # Python takes `__import__` from the `__builtins__` of the module that the statement is in.
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": _import}
        super().exec_module(module)
        if module.__name__ == "allennlp.common.plugins" and not _ONLY_MISSING:
            _name_plugin(module)


def _name_plugin(plugins: ModuleType) -> None:
    """Adds this plugin to those that AllenNLP finds, wherever it is called."""
    discover = plugins.discover_plugins

    def discover_plugins() -> Iterator[str]:
        names = set()
        for name in discover():
            names.add(name)
            yield name
        # Files can name it, too.
        if "bidaf_plugin" not in names:
            yield "bidaf_plugin"

    plugins.discover_plugins = discover_plugins  # type: ignore[attr-defined]


class _Finder:
    """Finds AllenNLP's modules where Python itself would find them, and gives them our `__import__`."""

    @staticmethod
    def find_spec(
        fullname: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        is_spacy_for_allennlp = fullname == "spacy" and "allennlp" in sys.modules
        if fullname.partition(".")[0] != "allennlp" and not is_spacy_for_allennlp:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def install() -> None:
    """From now on AllenNLP's modules get stand-ins; doing it again changes nothing."""
    if _Finder not in sys.meta_path:
        sys.meta_path.insert(0, _Finder)
