"""
Shows that the fast paths compute what the plain ones do: `python -m benchmarks.agreement`.

Two models with the same weights are trained on the same batches without dropout; then both answer the same
questions. One is as the configs have it. The other has no shortcut: AllenNLP's `lstm`, whole query-aware
passages in every layer that reads them, every word embedded where it stands, batches in one part (see
`PlainAttentionFlow` and `PlainSpanOutputLayer`).

It fails, with exit code 1, if a loss differs by more than 1e-4 or if any answer differs. The figures go to
`benchmarks/results/agreement.json`.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any, Dict, List, Optional

import _jsonnet
import torch
from allennlp.common import Params, Tqdm
from allennlp.data import Batch, DatasetReader, Instance, Vocabulary
from allennlp.models import Model
from allennlp.training.optimizers import Optimizer

import benchmarks.plain_attention_flow
import benchmarks.plain_span_output_layer  # noqa: F401  (registers)
import bidaf_plugin  # noqa: F401  (registers everything)
from benchmarks.machine import describe_machine
from benchmarks.report import versions, write_whole
from benchmarks.systems import BENCHMARKS, ROOT, BenchmarkError
from benchmarks.workspace import full_sources, quick_sources

# By how much a loss may differ. Rounding errors grow from step to step, mistakes are larger at once.
LOSS_LIMIT = 1e-4
_BATCH_SIZE = 60


def load_config(glove: str, is_quick: bool, is_plain: bool) -> Dict[str, Any]:
    sizes = "word_dim:: 8, num_filters:: 8, hidden_size:: 8," if is_quick else ""
    lstm = "lstm:: 'lstm'," if is_plain else ""
    config = json.loads(
        _jsonnet.evaluate_snippet(
            "agreement",
            f"(import '{ROOT}/training_configs/bidaf_squad_adam.jsonnet') + {{ {sizes} {lstm} "
            f"dropout:: 0.0, glove:: {json.dumps(glove or None)} }}",
        )
    )
    if is_plain:
        config["model"]["type"] = "plain_attention_flow"
        config["model"]["output_layer"]["type"] = "plain_span"
    return config


def make_models(
    config: Dict[str, Any], plain_config: Dict[str, Any], vocab: Vocabulary
) -> List[Model]:
    """The fast and the plain model with the same weights."""
    fast, plain = (
        Model.from_params(Params(each["model"]), vocab=vocab) for each in (config, plain_config)
    )
    # The fast LSTMs take over the weights of plain ones.
    fast.load_state_dict(plain.state_dict())
    return [fast, plain]


def batches(instances: List[Instance], vocab: Vocabulary) -> Any:
    ordered = sorted(instances, key=lambda instance: len(instance.fields["passage"]))
    for start in range(0, len(ordered), _BATCH_SIZE):
        batch = Batch(ordered[start : start + _BATCH_SIZE])
        batch.index_instances(vocab)
        yield batch.as_tensor_dict()


def compare_losses(
    models: List[Model], instances: List[Instance], vocab: Vocabulary, num_steps: int
) -> float:
    """Trains both; the largest difference of their losses, which is nan if one of them is."""
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(len(instances), generator=generator)
    needed = [instances[i] for i in chosen[: num_steps * _BATCH_SIZE].tolist()]
    optimizers = [
        Optimizer.from_params(
            Params({"type": "adam", "lr": 0.001}), model_parameters=list(model.named_parameters())
        )
        for model in models
    ]
    differences = []
    all_tensors = list(batches(needed, vocab))
    # As in training, batches of short and of long passages come mixed.
    order = torch.randperm(len(all_tensors), generator=generator).tolist()
    for step, place in enumerate(Tqdm.tqdm(order, desc="training"), start=1):
        tensors = all_tensors[place]
        losses = []
        for model, optimizer in zip(models, optimizers, strict=True):
            optimizer.zero_grad()
            loss = model.train()(**tensors)["loss"]
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        differences.append(abs(losses[0] - losses[1]))
        if step in (1, 10, 25, 50):
            print(f"step {step}: fast {losses[0]:.6f}, plain {losses[1]:.6f}", flush=True)
    return float(torch.tensor(differences).max())


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
    difference = compare_losses(models, instances, vocab, num_steps)
    print(f"largest difference of a loss in {num_steps} steps: {difference:.2e}", flush=True)
    answers = compare_answers(models, dev_instances, vocab)
    print(
        f"answers that differ: {answers['answers_that_differ']} of {answers['questions']}; largest "
        f"difference of a confidence: {answers['largest_difference_of_a_confidence']:.2e}"
    )
    return {
        # False, too, for a difference that is not a number.
        "agree": difference <= LOSS_LIMIT and answers["answers_that_differ"] == 0,
        "steps": num_steps,
        "largest_difference_of_a_loss": difference,
        "limit_of_that": LOSS_LIMIT,
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
