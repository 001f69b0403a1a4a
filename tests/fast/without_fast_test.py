"""The folder `fast` can be deleted: all else works, and computes the same."""

import json
import subprocess
import sys
from typing import Any, Dict

import pytest

_PROGRAM = """
import json, sys
import torch

if sys.argv[1] == "without":
    class Nothing:
        def find_spec(self, name, path=None, target=None):
            if name.startswith("bidaf_plugin.fast"):
                raise ModuleNotFoundError(name)
    sys.meta_path.insert(0, Nothing())

import bidaf_plugin
from tests.helpers import as_tensors, build_model, read_tiny, tiny_params

params = tiny_params("dropout:: 0.0,")
instances = read_tiny(params)
model = build_model(params, instances)
tensors = as_tensors(instances, model.vocab)
optimizer = torch.optim.SGD(model.parameters(), 0.1)
losses = []
for _ in range(3):
    optimizer.zero_grad()
    loss = model(**tensors)["loss"]
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
output = model.eval()(**tensors)
fast = [name for name in sys.modules if name.startswith("bidaf_plugin.fast")]
print(json.dumps({"losses": losses, "spans": output["best_span"].tolist(),
                  "confidence": output["confidence"].tolist(), "fast": len(fast)}))
"""


def run(how: str) -> Dict[str, Any]:
    finished = subprocess.run(
        [sys.executable, "-c", _PROGRAM, how], capture_output=True, text=True, check=True
    )
    return json.loads(finished.stdout.splitlines()[-1])


def test_without_the_folder_training_and_answers_are_the_same_but_for_rounding() -> None:
    with_it, without = run("with"), run("without")
    assert with_it["fast"] > 0 and without["fast"] == 0
    assert without["losses"] == pytest.approx(with_it["losses"], abs=1e-5)
    assert without["confidence"] == pytest.approx(with_it["confidence"], abs=1e-5)
    assert without["spans"] == with_it["spans"]
