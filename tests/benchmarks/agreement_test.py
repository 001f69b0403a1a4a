import json
import re
from pathlib import Path
from typing import Any, Callable, Dict, List

import pytest
import torch
from allennlp.common import Params
from allennlp.data import DatasetReader, Vocabulary
from allennlp.models import Model

from benchmarks.agreement import load_config, losses_agree, main, make_models
from benchmarks.workspace import quick_sources
from bidaf_plugin.fast import bilstm
from tests.helpers import TINY_SQUAD, as_tensors
from tests.native import native_only


def run(tmp_path: Path, steps: int = 1) -> int:
    return main(
        ["--quick", "--steps", str(steps), "--output", str(tmp_path / "results" / "agreement.json")]
    )


def read(tmp_path: Path) -> Dict[str, Any]:
    return json.loads((tmp_path / "results" / "agreement.json").read_text())


def scaled_layer(factor: Callable[[], float]) -> Callable[..., torch.Tensor]:
    """A shortcut with a mistake."""
    run_layer = bilstm.run_layer

    def scaled(*arguments: Any) -> torch.Tensor:
        return run_layer(*arguments) * factor()

    return scaled


class TestAgreement:
    def test_the_fast_and_the_plain_path_agree(
        self, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run(tmp_path, steps=3) == 0
        printed = capsys.readouterr().out
        difference = re.search(r"in double precision: (\S+)", printed)
        assert difference is not None and float(difference.group(1)) < 1e-9
        assert re.search(r"answers that differ: 0 of \d\d\d", printed)
        figures = read(tmp_path)
        assert figures["agree"] and figures["steps"] == 3 and figures["questions"] > 100
        differences = figures["largest_differences_of_losses"]
        assert differences["in_double_precision"] < 1e-9
        assert differences["in_single_precision"] < 1e-4
        assert differences["by_rounding_alone"] < 1e-4
        assert figures["machine"]["threads"] == torch.get_num_threads()
        assert figures["versions"]["torch"] and figures["date"]

    @native_only
    @pytest.mark.parametrize("factor", [0.5, float("nan")])
    def test_losses_that_differ_are_a_failure(
        self,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
        factor: float,
    ) -> None:
        # In training only, so that the answers are the same.
        monkeypatch.setattr(
            bilstm, "run_layer", scaled_layer(lambda: factor if torch.is_grad_enabled() else 1.0)
        )
        monkeypatch.setattr("benchmarks.agreement.compare_answers", _no_difference)
        assert run(tmp_path) == 1
        assert "do not agree" in capsys.readouterr().err
        assert not read(tmp_path)["agree"]

    def test_more_than_rounding_is_a_failure_in_single_precision(self) -> None:
        for single, rounding, expected in (
            (9e-5, 0.0, True),
            (2e-4, 0.0, False),
            (2e-4, 1e-4, True),
            (2e-3, 1e-4, False),
            (float("nan"), 1e-4, False),
        ):
            differences = {
                "in_double_precision": 1e-10,
                "in_single_precision": single,
                "by_rounding_alone": rounding,
            }
            assert losses_agree(differences) == expected
            assert not losses_agree({**differences, "in_double_precision": 1e-3})

    @native_only
    def test_answers_that_differ_are_a_failure(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(
            bilstm, "run_layer", scaled_layer(lambda: 1.0 if torch.is_grad_enabled() else -1.0)
        )
        assert run(tmp_path) == 1
        figures = read(tmp_path)
        assert figures["largest_differences_of_losses"]["in_double_precision"] < 1e-4
        assert figures["answers_that_differ"] > 0 and not figures["agree"]

    @native_only
    def test_the_plain_model_takes_no_shortcut(self, monkeypatch: pytest.MonkeyPatch) -> None:
        _, _, glove = quick_sources()
        configs = [load_config(glove, True, is_plain) for is_plain in (False, True)]
        reader = DatasetReader.from_params(Params(configs[0]["validation_dataset_reader"]))
        instances = 8 * list(reader.read(TINY_SQUAD))
        for instance in instances:
            reader.apply_token_indexers(instance)
        vocab = Vocabulary.from_instances(instances)
        fast, plain = make_models(configs[0], configs[1], vocab)
        tensors = as_tensors(instances, vocab)

        def refuse(*arguments: Any, **options: Any) -> Any:
            raise AssertionError("a shortcut")

        def use(model: Model) -> None:
            with torch.no_grad():
                model.eval()(**tensors)

        for place in ("bilstm.run_layer", "distinct_words.embed_once", "scores.score"):
            with monkeypatch.context() as patched:
                patched.setattr(f"bidaf_plugin.fast.{place}", refuse)
                use(plain)
                with pytest.raises(AssertionError, match="a shortcut"):
                    use(fast)


def _no_difference(models: List[Model], instances: List[Any], vocab: Vocabulary) -> Dict[str, Any]:
    return {
        "questions": len(instances),
        "answers_that_differ": 0,
        "largest_difference_of_a_confidence": 0.0,
    }
