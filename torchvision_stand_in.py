"""
AllenNLP imports `torchvision` when it starts, though text models never use it, and the torchvision
of the package index is a CUDA build that a CPU-only torch cannot import. This module lets AllenNLP
start without torchvision.

`install` is an entry point of the group `torch.backends`, so torch calls it at the end of
`import torch`: it is in place in the `allennlp` command, in the workers it spawns, in pytest and in
notebooks alike. It must stay light and must never raise. It appends a finder, which Python asks
last: a real torchvision always wins, and everybody but AllenNLP still gets the usual
`ModuleNotFoundError`.
"""

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, List, Optional, Sequence


class _StandIn(ModuleType):
    """A `torchvision` of which only the name can be used."""

    __path__: List[str] = []

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise ImportError(f"{self.__name__}.{name} needs the real torchvision: pip install it")


class _StandInFinder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Optional[Sequence[str]] = None, target: Any = None
    ) -> Optional[ModuleSpec]:
        is_torchvision = fullname == "torchvision" or fullname.startswith("torchvision.")
        if is_torchvision and _allennlp_is_importing():
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        pass


def _allennlp_is_importing() -> bool:
    frame = sys._getframe()
    while frame is not None:
        importer = frame.f_globals.get("__name__") or ""
        if importer.startswith("allennlp."):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def install() -> None:
    """Appends the finder, once."""
    if not any(isinstance(finder, _StandInFinder) for finder in sys.meta_path):
        sys.meta_path.append(_StandInFinder())
