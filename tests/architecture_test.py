"""The rooms of the package stand on each other in one order: nothing imports what is above it."""

import ast
from pathlib import Path
from typing import Iterator, Tuple

from tests.helpers import ROOT

# The lowest first. AllenNLP's own words, where it has them.
LAYERS = (
    "common",
    "runtime",
    "nn",
    "data.tokenizers",
    "data.token_indexers",
    "data.fields",
    "data.samplers",
    "data.dataset_readers",
    "data",
    "fast",
    "training.metrics",
    "modules",
    "models",
    "predictors",
    "archives",
    "training",
    "analysis",
    "export",
    "server",
    "cluster",
    "commands",
    "upstream",
    "",
)
# From one file to another room, and why.
EXCEPTIONS = {
    # What the README has always imported from there is looked up when it is asked for.
    ("predictors.__init__", "archives"),
}


def room_of(module: str) -> str:
    """The innermost of the layers that a module of the package, given without its name, is in."""
    while module not in LAYERS:
        module = module.rpartition(".")[0]
    return module


def imports_of(path: Path) -> Iterator[str]:
    """What a file imports of the package, wherever in the file, without the name of the package."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: a relative import"
            # Each of them may be a module.
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        yield from (name.partition(".")[2] for name in names if name.startswith("bidaf_plugin"))


def all_imports() -> Iterator[Tuple[str, str]]:
    package = ROOT / "bidaf_plugin"
    for path in package.rglob("*.py"):
        module = ".".join(path.relative_to(package).with_suffix("").parts)
        yield from ((module, imported) for imported in imports_of(path))


def test_nothing_imports_what_is_above_it() -> None:
    imports = list(all_imports())
    assert len(imports) > 100
    used = {(module, room_of(imported)) for module, imported in imports}
    wrong = {
        (module, room)
        for module, room in used
        if LAYERS.index(room) > LAYERS.index(room_of(module))
    }
    assert wrong == EXCEPTIONS


def test_every_folder_has_its_place() -> None:
    rooms = {
        path.name for path in (ROOT / "bidaf_plugin").iterdir() if (path / "__init__.py").exists()
    }
    assert rooms == {layer.partition(".")[0] for layer in LAYERS if layer}
