"""
Shows that the fast paths compute what the plain ones do: `python -m benchmarks.agreement`.

Two models with the same weights, one with AllenNLP's `lstm` on whole query-aware passages and every word
embedded where it stands, one as the configs have it, are trained on the same batches without dropout;
then both answer the same questions.
"""

import argparse
import json
import sys
from typing import Any, Dict, List, Optional, Tuple

import _jsonnet
import torch
from allennlp.common import Params, Tqdm
from allennlp.data import Batch, DatasetReader, Instance, Vocabulary
from allennlp.models import Model
from allennlp.training.optimizers import Optimizer

import bidaf_plugin  # noqa: F401  (registers everything)
from benchmarks.systems import ROOT, BenchmarkError
from benchmarks.workspace import full_sources, quick_sources

_BATCH_SIZE = 60


def load_config(lstm: str, glove: str, is_quick: bool) -> Dict[str, Any]:
    sizes = "word_dim:: 8, num_filters:: 8, hidden_size:: 8," if is_quick else ""
    return json.loads(
        _jsonnet.evaluate_snippet(
            "agreement",
            f"(import '{ROOT}/training_configs/bidaf_squad_adam.jsonnet') + {{ {sizes} dropout:: 0.0, "
            f"lstm:: '{lstm}', glove:: {json.dumps(glove or None)} }}",
        )
    )


def make_models(
    config: Dict[str, Any], plain_config: Dict[str, Any], vocab: Vocabulary
) -> List[Model]:
    """The fast and the plain model with the same weights."""
    fast, plain = (
        Model.from_params(Params(each["model"]), vocab=vocab) for each in (config, plain_config)
    )
    plain._embeds_words_alone = False
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
    """Trains both; the largest difference of their losses."""
    generator = torch.Generator().manual_seed(0)
    chosen = torch.randperm(len(instances), generator=generator)
    needed = [instances[i] for i in chosen[: num_steps * _BATCH_SIZE].tolist()]
    optimizers = [
        Optimizer.from_params(
            Params({"type": "adam", "lr": 0.001}), model_parameters=list(model.named_parameters())
        )
        for model in models
    ]
    largest = 0.0
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
        largest = max(largest, abs(losses[0] - losses[1]))
        if step in (1, 10, 25, 50):
            print(f"step {step}: fast {losses[0]:.6f}, plain {losses[1]:.6f}", flush=True)
    return largest


@torch.no_grad()
def compare_answers(
    models: List[Model], instances: List[Instance], vocab: Vocabulary
) -> Tuple[int, float]:
    """Of how many questions the answers differ, and by how much the probabilities of spans do."""
    # Both with the same weights, not with what each has made of them in training.
    models[0].load_state_dict(models[1].state_dict())
    num_different, largest = 0, 0.0
    for tensors in Tqdm.tqdm(batches(instances, vocab), desc="answering"):
        fast, plain = (model.eval()(**tensors) for model in models)
        num_different += int((fast["best_span"] != plain["best_span"]).any(dim=1).sum())
        largest = max(largest, float((fast["confidence"] - plain["confidence"]).abs().max()))
    return num_different, largest


def main(arguments: Optional[List[str]] = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.agreement", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tiny model on the embedded sample")
    parser.add_argument("--steps", type=int, default=50, help="training steps (default = 50)")
    options = parser.parse_args(arguments)
    try:
        train, dev, glove = quick_sources() if options.quick else full_sources()
    except BenchmarkError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    torch.manual_seed(0)
    config, plain_config = (
        load_config(lstm, glove, options.quick) for lstm in ("unpacked_lstm", "lstm")
    )
    reader = DatasetReader.from_params(Params(config["validation_dataset_reader"]))
    instances, dev_instances = list(reader.read(train)), list(reader.read(dev))
    for instance in instances + dev_instances:
        reader.apply_token_indexers(instance)
    num_needed = options.steps * _BATCH_SIZE
    vocab = Vocabulary.from_instances(instances[:num_needed] + dev_instances)
    models = make_models(config, plain_config, vocab)
    difference = compare_losses(models, instances, vocab, options.steps)
    print(f"largest difference of a loss in {options.steps} steps: {difference:.2e}", flush=True)
    num_different, largest = compare_answers(models, dev_instances, vocab)
    print(
        f"answers that differ: {num_different} of {len(dev_instances)}; largest difference of a "
        f"confidence: {largest:.2e}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
