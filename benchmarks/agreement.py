"""
Shows that the fast paths compute what the plain ones do: `python -m benchmarks.agreement`.

Two models with the same weights are trained on the same batches without dropout; then both answer the same
questions. One is as the configs have it. The other does without `bidaf_plugin.fast`: AllenNLP's `lstm`,
concatenations that are made, and every word embedded where it stands. Both are trained as people train: gradients of two batches are added up,
in place, and clipped.

The losses are compared in double precision, where rounding does not count, and in single precision, beside
what rounding alone does: a second plain model gets the questions of each batch in reversed order.

It fails, with exit code 1, if a loss differs by more than 1e-4 in double precision, or by far more than by
rounding in single precision, or if any answer differs. The figures go to `benchmarks/results/agreement.json`.
"""

import argparse
import json
import sys
import time
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any, Callable, Dict, List, Optional
from unittest.mock import patch

import _jsonnet
import torch
from allennlp.common import Params, Tqdm
from allennlp.data import Batch, DatasetReader, Instance, TensorDict, Vocabulary
from allennlp.models import Model
from allennlp.training.optimizers import Optimizer

import bidaf_plugin  # noqa: F401  (registers everything)
from benchmarks.machine import describe_machine
from benchmarks.report import versions, write_whole
from benchmarks.systems import BENCHMARKS, ROOT, BenchmarkError
from benchmarks.workspace import full_sources, quick_sources
from bidaf_plugin.modules import dropped_inputs

# By how much a loss may differ.
LOSS_LIMIT = 1e-4
# In single precision rounding errors grow from step to step, and may make more of it: at most so many times
# what they make between two plain models.
_TIMES_ROUNDING = 10
_BATCH_SIZE = 60
_BATCHES_PER_STEP = 2
# Small enough that nearly all gradients are clipped.
_GRADIENT_NORM = 1.0


def load_config(glove: str, is_quick: bool, is_plain: bool) -> Dict[str, Any]:
    sizes = "word_dim:: 8, num_filters:: 8, hidden_size:: 8," if is_quick else ""
    lstm = "lstm:: 'lstm'," if is_plain else ""
    return json.loads(
        _jsonnet.evaluate_snippet(
            "agreement",
            f"(import '{ROOT}/training_configs/bidaf_squad_adam.jsonnet') + {{ {sizes} {lstm} "
            f"dropout:: 0.0, glove:: {json.dumps(glove or None)} }}",
        )
    )


def make_models(
    config: Dict[str, Any], plain_config: Dict[str, Any], vocab: Vocabulary
) -> List[Model]:
    """The fast and the plain model with the same weights."""
    fast, plain = (
        Model.from_params(Params(each["model"]), vocab=vocab) for each in (config, plain_config)
    )
    # The fast LSTMs take over the weights of plain ones.
    fast.load_state_dict(plain.state_dict())
    plain._embeds_distinct_words = False
    plain.forward = partial(_run_without_scores, plain.forward)  # type: ignore[method-assign]
    return [fast, plain]


def _run_without_scores(forward: Callable[..., Any], **tensors: Any) -> Any:
    """Concatenations are made before they are multiplied with the weights of a scorer."""
    with patch.object(dropped_inputs, "scores", None):
        return forward(**tensors)


def batches(instances: List[Instance], vocab: Vocabulary) -> Any:
    ordered = sorted(instances, key=lambda instance: len(instance.fields["passage"]))
    for start in range(0, len(ordered), _BATCH_SIZE):
        batch = Batch(ordered[start : start + _BATCH_SIZE])
        batch.index_instances(vocab)
        yield batch.as_tensor_dict()


def make_batches(instances: List[Instance], vocab: Vocabulary, num_steps: int) -> List[TensorDict]:
    """What is trained on: as in training, batches of short and of long passages mixed."""
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(len(instances), generator=generator)
    needed = [instances[i] for i in chosen[: num_steps * _BATCH_SIZE].tolist()]
    all_tensors = list(batches(needed, vocab))
    order = torch.randperm(len(all_tensors), generator=generator).tolist()
    return [all_tensors[place] for place in order]


def train_side_by_side(
    models: List[Model], steps: List[TensorDict], is_last_reversed: bool = False
) -> torch.Tensor:
    """
    The losses of models that are trained on the same batches, the last of them, if wanted, with the
    questions of each batch in reversed order. Shape: (num_models, num_steps)
    """
    optimizers = [
        Optimizer.from_params(
            Params({"type": "adam", "lr": 0.001}), model_parameters=list(model.named_parameters())
        )
        for model in models
    ]
    losses: List[List[float]] = [[] for _ in models]
    for tensors in Tqdm.tqdm(steps, desc="training"):
        inputs = [tensors] * len(models)
        if is_last_reversed:
            inputs[-1] = _reversed(tensors)
        for number, (model, optimizer) in enumerate(zip(models, optimizers, strict=True)):
            loss = model.train()(**inputs[number])["loss"]
            loss.backward()
            losses[number].append(loss.item())
            if len(losses[number]) % _BATCHES_PER_STEP == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), _GRADIENT_NORM)
                optimizer.step()
                optimizer.zero_grad(set_to_none=False)
    return torch.tensor(losses, dtype=torch.float64)


def _reversed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _reversed(item) for key, item in value.items()}
    return value.flip(0) if isinstance(value, torch.Tensor) else value[::-1]


def compare_losses(models: List[Model], steps: List[TensorDict]) -> Dict[str, float]:
    """The largest differences of losses, which are nan if one of the losses is."""
    in_double_precision = train_side_by_side([deepcopy(model).double() for model in models], steps)
    losses = train_side_by_side([*models, deepcopy(models[1])], steps, is_last_reversed=True)
    return {
        "in_double_precision": _largest(in_double_precision[0] - in_double_precision[1]),
        "in_single_precision": _largest(losses[0] - losses[1]),
        "by_rounding_alone": _largest(losses[2] - losses[1]),
    }


def _largest(differences: torch.Tensor) -> float:
    return float(differences.abs().max())


def losses_agree(differences: Dict[str, float]) -> bool:
    """False, too, for a difference that is not a number."""
    rounding = max(LOSS_LIMIT, _TIMES_ROUNDING * differences["by_rounding_alone"])
    return (
        differences["in_double_precision"] <= LOSS_LIMIT
        and differences["in_single_precision"] <= rounding
    )


@torch.no_grad()
def compare_answers(
    models: List[Model], instances: List[Instance], vocab: Vocabulary
) -> Dict[str, Any]:
    """Of how many questions the answers differ, and by how much the probabilities of spans do."""
    # Both with the same weights, not with what each has made of them in training.
    models[0].load_state_dict(models[1].state_dict())
    num_different = 0
    differences = []
    for tensors in Tqdm.tqdm(batches(instances, vocab), desc="answering"):
        fast, plain = (model.eval()(**tensors) for model in models)
        num_different += int((fast["best_span"] != plain["best_span"]).any(dim=1).sum())
        differences.append(float((fast["confidence"] - plain["confidence"]).abs().max()))
    return {
        "questions": len(instances),
        "answers_that_differ": num_different,
        "largest_difference_of_a_confidence": float(torch.tensor(differences).max()),
    }


def compare(is_quick: bool, num_steps: int) -> Dict[str, Any]:
    """The figures of a run, and whether the models agree."""
    train, dev, glove = quick_sources() if is_quick else full_sources()
    torch.manual_seed(0)
    config, plain_config = (load_config(glove, is_quick, is_plain) for is_plain in (False, True))
    reader = DatasetReader.from_params(Params(config["validation_dataset_reader"]))
    instances, dev_instances = list(reader.read(train)), list(reader.read(dev))
    for instance in instances + dev_instances:
        reader.apply_token_indexers(instance)
    vocab = Vocabulary.from_instances(instances[: num_steps * _BATCH_SIZE] + dev_instances)
    models = make_models(config, plain_config, vocab)
    differences = compare_losses(models, make_batches(instances, vocab, num_steps))
    print(f"largest differences of losses in {num_steps} steps:")
    for name, difference in differences.items():
        print(f"  {name.replace('_', ' ')}: {difference:.2e}", flush=True)
    answers = compare_answers(models, dev_instances, vocab)
    print(
        f"answers that differ: {answers['answers_that_differ']} of {answers['questions']}; largest "
        f"difference of a confidence: {answers['largest_difference_of_a_confidence']:.2e}"
    )
    return {
        "agree": losses_agree(differences) and answers["answers_that_differ"] == 0,
        "steps": num_steps,
        "largest_differences_of_losses": differences,
        **answers,
        "machine": describe_machine(torch.get_num_threads()),
        "versions": versions(),
        "date": time.strftime("%Y-%m-%d"),
        "quick": is_quick,
    }


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny model on the embedded sample")
    parser.add_argument("--steps", type=int, default=50, help="training steps (default = 50)")
    parser.add_argument(
        "--output",
        type=Path,
        help="the JSON file (default = benchmarks/results/agreement.json; quick: quick_agreement.json)",
    )
    options = parser.parse_args(arguments)
    try:
        figures = compare(options.quick, options.steps)
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    name = "quick_agreement.json" if options.quick else "agreement.json"
    path = options.output or BENCHMARKS / "results" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json.dumps(figures, indent=2) + "\n")
    if not figures["agree"]:
        print("Error: the fast and the plain model do not agree", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
