"""The examples of CONTRIBUTING.md work as they stand, and so do the lines of configs that go with them."""

import json
import os
import shutil
from pathlib import Path

import _jsonnet
import pytest
from allennlp.commands.train import train_model
from allennlp.common import Params, Registrable
from allennlp.modules.matrix_attention import MatrixAttention

from bidaf_plugin.commands import Action
from bidaf_plugin.modules.fusion import Fusion
from bidaf_plugin.modules.output_layers import OutputLayer
from tests.commands.helpers import run_action
from tests.docs.pages import CONTRIBUTING, code_blocks, inline_code
from tests.helpers import (
    FIXTURES,
    ROOT,
    TINY_SQUAD,
    as_tensors,
    build_model,
    read_tiny,
    tiny_params,
)

# Below which line of lib/bidaf.libsonnet a choice goes, by how it begins.
PLACES = {
    "scaled_dot: ": "    dot: { type: 'dot_product' },  // h u\n",
    "sum: ": "        mlp: encoding_dim,\n",
}


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    for base in (MatrixAttention, Fusion, OutputLayer, Action):
        monkeypatch.setitem(Registrable._registry, base, dict(Registrable._registry[base]))
    for block in code_blocks(CONTRIBUTING, "python"):
        exec(compile(block.text, "CONTRIBUTING.md", "exec"), {"__name__": "contributing"})


def config_with_new_choices(folder: Path) -> str:
    """A copy of the configs with the choices that CONTRIBUTING adds, relative to the configs."""
    shutil.copytree(ROOT / "training_configs", folder / "configs")
    library = folder / "configs" / "lib" / "bidaf.libsonnet"
    text = library.read_text(encoding="utf-8")
    for beginning, line in PLACES.items():
        (choice,) = [code for code in inline_code(CONTRIBUTING) if code.startswith(beginning)]
        assert text.count(line) == 1
        text = text.replace(line, f"{line}{choice}\n")
    library.write_text(text, encoding="utf-8")
    config = folder / "configs" / "bidaf_squad_adam.jsonnet"
    return os.path.relpath(config, ROOT / "training_configs")


class TestExamples:
    @pytest.mark.parametrize("choice", ["alpha:: 'scaled_dot'", "beta:: 'sum'"])
    def test_similarity_and_fusion_are_choices_that_learn(
        self, choice: str, tmp_path: Path
    ) -> None:
        params = tiny_params(choice, config_with_new_choices(tmp_path))
        instances = read_tiny(params)
        model = build_model(params, instances)
        model(**as_tensors(instances, model.vocab))["loss"].backward()
        part = model._attention._similarity if "alpha" in choice else model._attention._fusion
        assert type(part).__module__ == "contributing"
        gradients = [parameter.grad for parameter in model._contextual_layer.parameters()]
        assert all(gradient is not None and gradient.abs().sum() > 0 for gradient in gradients)

    def test_output_layer_is_trained_and_answers(self, tmp_path: Path) -> None:
        (block,) = code_blocks(CONTRIBUTING, "jsonnet")
        config = json.loads(_jsonnet.evaluate_snippet(str(ROOT / "example"), block.text))
        config.update(train_data_path=str(TINY_SQUAD), validation_data_path=str(TINY_SQUAD))
        config["trainer"].update(num_epochs=1, patience=1)
        instances = read_tiny(config)
        model = train_model(Params(config), str(tmp_path / "run")).eval()
        metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
        assert 0 <= metrics["best_validation_accuracy"] <= 100
        for answer, instance in zip(model.forward_on_instances(instances), instances, strict=True):
            words = {token.text for token in instance["metadata"]["passage_tokens"]}
            assert answer["best_word"] in words

    def test_command_runs(self, capsys: pytest.CaptureFixture[str]) -> None:
        path = FIXTURES / "squad" / "sample_dev.json"
        run_action("count", path)
        assert int(capsys.readouterr().out) == path.read_text(encoding="utf-8").count('"question":')
