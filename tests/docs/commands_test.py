"""Commands, options, choices and code in the documentation are those that there are, and all are named."""

import ast
import json
import re
from argparse import ArgumentParser, _SubParsersAction
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import List, Set

import _jsonnet
import pytest
from allennlp.commands import Subcommand
from allennlp.common import Params

from bidaf_plugin.commands import Action
from tests.docs.pages import PAGES, README, code_blocks, commands, each_page, inline_code, prose
from tests.helpers import ROOT

ALL_TEXT = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
CHOICE = re.compile(r"^  (\w+)::", re.MULTILINE)
# In a config, but not to be chosen.
NO_CHOICES = {"errors", "idle_choices", "known_choices"}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.findall(r"^\.PHONY: (\S+)$", MAKEFILE, re.MULTILINE))
# Of pip, of Ray, of the program in an exported model, and of all programs.
OTHER_OPTIONS = {"--no-deps", "--head", "--skip-bad", "--help"}


def options_of(name: str) -> List[Set[str]]:
    """The options of an action, each with all of its spellings."""
    parser = ArgumentParser(add_help=False)
    Action.by_name(name)().add_arguments(parser)
    return [set(action.option_strings) for action in parser._actions if action.option_strings]


@lru_cache
def allennlp_parser() -> ArgumentParser:
    """What parses the arguments of `allennlp`."""
    parser = ArgumentParser(prog="allennlp")
    subparsers = parser.add_subparsers()
    for name in Subcommand.list_available():
        subparser = Subcommand.by_name(name)().add_subparser(subparsers)
        # As AllenNLP does.
        subparser.add_argument("--include-package", action="append")
    return parser


@lru_cache
def known_options() -> Set[str]:
    """Of all actions, of AllenNLP's own commands, and of others."""
    (subparsers,) = (
        action for action in allennlp_parser()._actions if isinstance(action, _SubParsersAction)
    )
    options = set(OTHER_OPTIONS)
    for subparser in subparsers.choices.values():
        options.update(subparser._option_string_actions)
    for name in Action.list_available():
        options.update(*options_of(name))
    return options


def check_is_config(arguments: List[str]) -> None:
    """Of `allennlp train CONFIG ... -o OVERRIDES`, if the config is one of ours."""
    if arguments[0] == "train" and arguments[1].startswith("training_configs/"):
        overrides = arguments[arguments.index("-o") + 1] if "-o" in arguments else ""
        Params.from_file(ROOT / arguments[1], overrides)


class TestCommands:
    @each_page
    def test_of_allennlp_are_understood(
        self, page: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for command in commands(page):
            if command[:1] != ["allennlp"]:
                continue
            try:
                allennlp_parser().parse_args(command[1:])
            except SystemExit:
                pytest.fail(f"{' '.join(command)}: {capsys.readouterr().err}")
            check_is_config(command[1:])

    @each_page
    def test_of_make_are_targets(self, page: Path) -> None:
        for command in [*commands(page), *(code.split() for code in inline_code(page))]:
            if command[:1] != ["make"]:
                continue
            names = {word.partition("=")[0] for word in command[1:] if "=" in word}
            assert {word for word in command[1:] if "=" not in word} <= TARGETS, command
            missing = {name for name in names if not re.search(rf"\b{name}\b", MAKEFILE)}
            assert not missing, f"{command}: the Makefile does not know {missing}"

    @each_page
    def test_of_allennlp_in_sentences_are_there(self, page: Path) -> None:
        for code in inline_code(page):
            words = code.split()
            if words[0] != "allennlp" or len(words) < 2:
                continue
            assert words[1] in Subcommand.list_available(), code
            if words[1] == "bidaf" and len(words) > 2:
                assert words[2] in (*Action.list_available(), "ACTION"), code

    @each_page
    def test_read_files_that_are_there(self, page: Path) -> None:
        for command in commands(page):
            for word in command:
                if word.startswith(("training_configs/", "fixtures/", "pretrained/")):
                    assert (ROOT / word.partition("!")[0]).exists(), word

    def test_all_actions_and_targets_are_named(self) -> None:
        named = set(re.findall(r"allennlp bidaf ([a-z-]+)", ALL_TEXT))
        assert set(Action.list_available()) <= named
        assert {name for name in TARGETS if f"make {name}" not in ALL_TEXT} <= {"install-tools"}


class TestOptions:
    @each_page
    def test_that_are_named_are_there(self, page: Path) -> None:
        for code in inline_code(page):
            for option in re.findall(r"(?:^| )(--[a-z][a-z0-9-]*)", code):
                assert option in known_options(), code

    @pytest.mark.parametrize("name", sorted(Action.list_available()))
    def test_all_are_named(self, name: str) -> None:
        for spellings in options_of(name):
            pattern = rf"(?<![\w-])(?:{'|'.join(sorted(spellings))})(?![\w-])"
            assert re.search(pattern, ALL_TEXT), f"no page names {spellings} of {name}"


class TestChoices:
    def test_all_are_explained(self) -> None:
        known: Set[str] = set()
        for name in ("bidaf", "cloze"):
            path = ROOT / "training_configs" / "lib" / f"{name}.libsonnet"
            known |= set(CHOICE.findall(path.read_text(encoding="utf-8")))
        explained: Set[str] = set()
        for page in (ROOT / "docs" / "configs.md", ROOT / "docs" / "cloze.md"):
            first_columns = re.findall(r"^\| (`[^|]*) \|", prose(page), re.MULTILINE)
            explained.update(
                name for cell in first_columns for name in re.findall(r"`(\w+)`", cell)
            )
        assert known - NO_CHOICES <= explained

    def test_the_diff_of_the_readme_is_of_the_paper_s_config(self) -> None:
        (block,) = code_blocks(README, "diff")
        config = (ROOT / "training_configs" / "bidaf_squad.jsonnet").read_text(encoding="utf-8")
        lines = block.text.splitlines()
        assert all(line[1:] in config.splitlines() for line in lines if line.startswith(" "))
        (added,) = [line[1:] for line in lines if line.startswith("+")]
        _jsonnet.evaluate_snippet(
            str(ROOT / "training_configs" / "swapped"),
            f"(import 'bidaf_squad.jsonnet') + {{ {added} }}",
        )


class TestCode:
    @each_page
    def test_in_python_imports_what_there_is(self, page: Path) -> None:
        for block in code_blocks(page, "python"):
            for node in ast.walk(ast.parse(block.text)):
                if isinstance(node, ast.ImportFrom) and node.module != "bidaf_answer":
                    module = import_module(str(node.module))
                    assert all(hasattr(module, alias.name) for alias in node.names), node.module

    @each_page
    def test_in_json_can_be_read(self, page: Path) -> None:
        for block in code_blocks(page, "json"):
            for line in block.text.splitlines():
                json.loads(line)

    @each_page
    def test_in_jsonnet_is_an_experiment(self, page: Path) -> None:
        for block in code_blocks(page, "jsonnet"):
            config = json.loads(_jsonnet.evaluate_snippet(str(ROOT / "example"), block.text))
            assert {"dataset_reader", "model", "trainer"} <= config.keys()
