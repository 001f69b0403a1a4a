"""
The wheel, installed where nothing of the repository is. `make test-wheel` also compiles the native part and has pip
install both the wheel and AllenNLP.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path
from typing import Dict

import pytest

from tests.helpers import ROOT

# Whether all is as for a user: with a compiler, and with pip.
IS_WHOLE = bool(os.environ.get("BIDAF_WHOLE_WHEEL"))
SOURCES = (
    *("bidaf_plugin", "pretrained", "training_configs"),
    *("setup.py", "setup.cfg", "pyproject.toml", "MANIFEST.in", "README.md", "LICENSE"),
    "allennlp_stand_ins.py",
)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, ignore=ignored)
        else:
            shutil.copy(ROOT / name, source / name)
    without_compiler = {} if IS_WHOLE else {"CC": "false", "CXX": "false"}
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "."]
    subprocess.run(
        [*command, "-w", str(out)],
        cwd=source,
        env={**os.environ, **without_compiler},
        check=True,
        capture_output=True,
    )
    (path,) = out.glob("*.whl")
    return path


class Environment:
    """An environment with the wheel, and with what it needs of the one that runs the tests, but not AllenNLP."""

    def __init__(self, folder: Path, wheel: Path) -> None:
        self.folder = folder / "empty"
        self.folder.mkdir()
        venv.create(folder / "env", with_pip=IS_WHOLE, symlinks=True)
        self._python = str(folder / "env" / "bin" / "python")
        (self._packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        if IS_WHOLE:
            self._pip("--no-deps", str(wheel))
        else:
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(self._packages)

    def _pip(self, *arguments: str) -> None:
        command = [self._python, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
        subprocess.run([*command, *arguments], check=True)

    def add_dependencies(self) -> None:
        """Python does not look for .pth files there, and so does not find the package of the repository."""
        path = sysconfig.get_paths()["purelib"]
        (self._packages / "dependencies.pth").write_text(path + "\n")
        if IS_WHOLE:
            self._pip("--no-deps", "allennlp==2.10.1")

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        home: Dict[str, str] = {"HOME": str(self.folder), "ALLENNLP_CACHE_ROOT": str(self.folder)}
        inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL"))}
        return subprocess.run(
            [self._python, *arguments],
            cwd=self.folder,
            env={**inherited, **home},
            capture_output=True,
            text=True,
        )


def test_the_wheel_carries_model_and_configs(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    for folder, pattern in (("pretrained", "*"), ("training_configs", "**/*.*sonnet")):
        paths = [path.relative_to(ROOT) for path in (ROOT / folder).glob(pattern)]
        assert paths and {f"bidaf_plugin/{path}" for path in paths} <= names
    assert {"allennlp_stand_ins.pth", "bidaf_plugin/server/page/page.js"} <= names
    assert any("_kernels_" in name for name in names) == IS_WHOLE


def test_a_question_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    environment = Environment(tmp_path, wheel)
    without = environment.run("-c", "import bidaf_plugin")
    assert without.returncode == 1
    assert "pip install --no-deps allennlp==2.10.1" in without.stderr.splitlines()[-1]

    environment.add_dependencies()
    question = ("Who built it?", "The mill was built by Ada Orn in 1871.")
    asked = environment.run("-m", "allennlp", "bidaf", "ask", *question, "--n-best", "1")
    assert asked.returncode == 0, asked.stderr
    assert "[Ada Orn]" in asked.stdout

    program = (
        "import bidaf_plugin; from allennlp.common import Params; print(bidaf_plugin.__file__); "
        "print(Params.from_file('training_configs/bidaf_squad.jsonnet')['model']['type'])"
    )
    config = environment.run("-c", program)
    assert config.returncode == 0, config.stderr
    place, model = config.stdout.split()
    assert Path(place).is_relative_to(tmp_path) and model == "attention_flow"
    # No file is needed in the user's home.
    assert not (environment.folder / "plugins").exists()
