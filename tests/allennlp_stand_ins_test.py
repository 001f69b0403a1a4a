import builtins
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, List, Set

import pytest
import torch
from allennlp.common import plugins

import allennlp_stand_ins
from allennlp_stand_ins import INSTALL_NAMES
from tests.helpers import ROOT

# Begins a program as if none of the packages were installed.
HIDE_ALL = f"""
import sys
class Hide:
    hidden = {list(INSTALL_NAMES)}
    def find_spec(name, *args):
        if name in Hide.hidden:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Hide)
"""
# Goes on as the `allennlp` command.
ALLENNLP = """
from allennlp.commands import main
sys.argv = ["allennlp", *{}]
main()
"""
FAKE_PACKAGE = """
TABLE = {"key": "value"}
class Thing:
    def __init__(self, number):
        self.number = number
"""


def run_python(code: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )


def imported_packages() -> Set[str]:
    """Of those that are put off; run in a spawned process."""
    import allennlp.commands  # noqa: F401

    return {name for name in INSTALL_NAMES if name in sys.modules}


class TestStart:
    def test_importing_the_plugin_imports_nothing_that_only_some_commands_use(self) -> None:
        heavy = [*INSTALL_NAMES, "matplotlib", "jinja2", "fastapi", "uvicorn", "safetensors"]
        code = f"import sys, bidaf_plugin; print([name for name in {heavy} if name in sys.modules])"
        assert run_python(code).stdout == "[]\n"

    def test_the_allennlp_command_runs_where_none_of_the_packages_is_installed(self) -> None:
        # It imports every module of AllenNLP.
        process = run_python(HIDE_ALL + ALLENNLP.format(["bidaf", "--help"]))
        assert process.returncode == 0, process.stderr
        assert "Tools for Bi-Directional Attention Flow models" in process.stdout

    @pytest.mark.parametrize(
        ("arguments", "package"),
        [
            (["calibrate", "model.tar.gz", "dev.json", "-o", "out.tar.gz"], "scipy"),
            (["compare", "dev.json", "a.json", "b.json", "-o", "out"], "scipy"),
            (["tsne", "model.tar.gz", "dev.json", "-o", "out"], "sklearn"),
        ],
    )
    def test_a_command_says_what_to_install_before_it_looks_at_its_arguments(
        self, arguments: List[str], package: str
    ) -> None:
        process = run_python(HIDE_ALL + ALLENNLP.format(["bidaf", *arguments]))
        sentence = f"Error: {package} is not installed: pip install 'bidaf_plugin[analysis]'\n"
        assert process.returncode == 1 and process.stderr == sentence

    def test_spawned_processes_get_stand_ins_too(self) -> None:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            # Tests import what they like when they are imported, spaCy or scipy; not transformers.
            assert "transformers" not in pool.apply(imported_packages)

    @pytest.mark.parametrize(("choice", "is_imported"), [("", False), ("missing", True)])
    def test_a_variable_has_what_is_installed_imported_at_start(
        self, choice: str, is_imported: bool
    ) -> None:
        code = "Hide.hidden.remove('spacy'); import allennlp; print('spacy' in sys.modules)"
        process = run_python(HIDE_ALL + code, ALLENNLP_STAND_INS=choice)
        assert process.stdout == f"{is_imported}\n", process.stderr

    def test_spacy_for_allennlp_leaves_out_its_command_line_until_it_is_used(self) -> None:
        code = (
            "import sys, allennlp, spacy; print('spacy.cli' in sys.modules);"
            "print(spacy.info()['spacy_version'] == spacy.__version__);"
            "print(spacy.cli.download.__name__)"
        )
        assert run_python(code).stdout == "False\nTrue\ndownload\n"

    def test_others_learn_that_a_package_is_missing(self) -> None:
        process = run_python(HIDE_ALL + "import allennlp, transformers")
        assert "ModuleNotFoundError: No module named 'transformers'" in process.stderr

    def test_is_installed_once(self) -> None:
        allennlp_stand_ins.install()
        allennlp_stand_ins.install()
        assert sys.meta_path.count(allennlp_stand_ins._Finder) == 1  # type: ignore[arg-type]


class TestStandIn:
    @pytest.fixture(autouse=True)
    def fake_package(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two packages, of which one is installed."""
        (tmp_path / "fake_package").mkdir()
        (tmp_path / "fake_package" / "__init__.py").touch()
        (tmp_path / "fake_package" / "things.py").write_text(FAKE_PACKAGE)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setitem(INSTALL_NAMES, "fake_package", "fake[extra]")
        monkeypatch.setitem(INSTALL_NAMES, "missing_package", "missing[extra]")
        for module in ("fake_package", "fake_package.things"):
            monkeypatch.delitem(sys.modules, module, raising=False)

    def run_in_allennlp(self, code: str) -> Dict[str, Any]:
        namespace: Dict[str, Any] = {
            "__name__": "allennlp.module",
            "__builtins__": {**vars(builtins), "__import__": allennlp_stand_ins._import},
        }
        exec(code, namespace)
        return namespace

    def is_imported(self) -> bool:
        return "fake_package" in sys.modules

    @pytest.mark.parametrize(
        "statement",
        [
            "import fake_package; Thing, TABLE = fake_package.things.Thing, fake_package.things.TABLE",
            "import fake_package.things as things; Thing, TABLE = things.Thing, things.TABLE",
            "from fake_package import things; Thing, TABLE = things.Thing, things.TABLE",
            "from fake_package.things import Thing, TABLE",
        ],
    )
    def test_a_package_is_imported_when_something_of_it_is_used(self, statement: str) -> None:
        namespace = self.run_in_allennlp(f"{statement}\nfrom typing import List\nList[Thing]")
        assert not isinstance(3, namespace["Thing"])
        assert not self.is_imported()
        thing = namespace["Thing"](3)
        assert thing.number == 3 and namespace["TABLE"]["key"] == "value"
        assert isinstance(thing, namespace["Thing"]) and not isinstance(3, namespace["Thing"])
        assert type(thing).__module__ == "fake_package.things"

    def test_the_class_that_a_class_is_derived_from_comes_with_its_first_object(self) -> None:
        namespace = self.run_in_allennlp(
            "from fake_package.things import Thing\n"
            "class Mixin:\n    pass\n"
            "class Child(Mixin, Thing):\n"
            "    def __init__(self, number):\n        super().__init__(number + 1)\n"
            "class Grandchild(Child):\n    pass"
        )
        assert not self.is_imported()
        grandchild = namespace["Grandchild"](3)
        assert grandchild.number == 4 and namespace["Child"](4).number == 5
        assert isinstance(grandchild, sys.modules["fake_package.things"].Thing)

    def test_one_sentence_says_what_to_install(self) -> None:
        namespace = self.run_in_allennlp("from missing_package.module import function")
        with pytest.raises(ModuleNotFoundError) as raised:
            namespace["function"]()
        message = "missing_package is not installed: pip install 'missing[extra]'"
        assert str(raised.value) == message and raised.value.name == "missing_package"

    def test_one_sentence_says_what_the_installed_version_lacks(self) -> None:
        namespace = self.run_in_allennlp("from fake_package.things import gone")
        with pytest.raises(
            ModuleNotFoundError, match="installed fake_package has no .*things.gone"
        ):
            namespace["gone"]()


class TestAllenNlpWithTheRealPackages:
    def test_an_optimizer_of_transformers_takes_a_step(self) -> None:
        transformers = pytest.importorskip(
            "transformers", reason="needs transformers: pip install 'bidaf_plugin[transformers]'"
        )
        from allennlp.training.optimizers import HuggingfaceAdafactor

        layer = torch.nn.Linear(2, 1)
        before = layer.weight.clone()
        optimizer = HuggingfaceAdafactor(list(layer.named_parameters()))
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        assert isinstance(optimizer, transformers.Adafactor)
        assert not torch.equal(layer.weight, before)

    def test_metrics_of_scipy_and_sklearn_compute(self) -> None:
        pytest.importorskip("sklearn", reason="needs pip install 'bidaf_plugin[analysis]'")
        from allennlp.training.metrics import Auc, SpearmanCorrelation

        auc, correlation = Auc(), SpearmanCorrelation()
        scores = torch.tensor([0.1, 0.4, 0.8])
        auc(scores, torch.tensor([0, 0, 1]))
        correlation(scores, torch.tensor([1.0, 2.0, 3.0]))
        assert auc.get_metric() == pytest.approx(1.0)
        assert correlation.get_metric() == pytest.approx(1.0)


class TestPlugins:
    def test_the_plugin_is_found_without_a_file_that_names_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(plugins, "GLOBAL_PLUGINS_FILENAME", str(tmp_path / "none"))
        assert list(plugins.discover_plugins()) == ["bidaf_plugin"]
        # Where a file names it, too, it is found once.
        (tmp_path / ".allennlp_plugins").write_text("my_parts\nbidaf_plugin\n")
        assert list(plugins.discover_plugins()) == ["my_parts", "bidaf_plugin"]
