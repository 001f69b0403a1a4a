"""
From config files to experiments, and from experiments to runs: the variants of a study, the members of an
ensemble, and the paper's model on local files.
"""

import json
import os
from copy import deepcopy
from glob import glob
from tempfile import NamedTemporaryFile
from typing import Any, Dict, Iterator, List, Optional, Tuple

from allennlp.common import Params

from bidaf_plugin.archives.packaged import find_config
from bidaf_plugin.common.errors import DataError
from bidaf_plugin.training.resumable import train_or_resume

VARIANTS_FOLDER = "training_configs/variants"
_SECONDS_BETWEEN_CHECKPOINTS = 300
_SEEDS = ("random_seed", "numpy_seed", "pytorch_seed")
# That of AllenNLP.
_DEFAULT_SEED = 13370


def make_config(
    path: str,
    overrides: str = "",
    data: Optional[str] = None,
    steps_per_score: Optional[int] = 730,
    recipe: Optional[str] = None,
) -> Dict[str, Any]:
    """
    The experiment of a config file, with the choices of another file, the `recipe`, in place of its own,
    on the files of the folder `data` if it is given, and with a score every so many steps, or where the
    config has them.
    """
    path, recipe = find_config(path), recipe and find_config(recipe)
    for file in filter(None, (path, recipe)):
        if not os.path.isfile(file):
            raise DataError(f"{file} is not here: run this in the root of the repository")
    if steps_per_score is not None and steps_per_score < 1:
        raise DataError(f"the steps per score must be 1 or more, not {steps_per_score}")
    config = _read_config(path, recipe, overrides)
    if data:
        config["train_data_path"] = _find_file(data, "squad/train-v1.1.json*")
        config["validation_data_path"] = _find_file(data, "squad/dev-v1.1.json*")
        glove = _find_file(data, "glove/glove.6B.100d*.txt*")
        # The ablation without word embedding has neither.
        if "pretrained_files" in config["vocabulary"]:
            config["vocabulary"]["pretrained_files"]["tokens"] = glove
            embedders = config["model"]["text_field_embedder"]["token_embedders"]
            embedders["tokens"]["pretrained_file"] = glove
    if steps_per_score is not None:
        # What AllenNLP calls an epoch is the stretch between two scores here.
        config["data_loader"]["batches_per_epoch"] = steps_per_score
    config["trainer"].setdefault("checkpointer", {}).setdefault(
        "save_every_num_seconds", _SECONDS_BETWEEN_CHECKPOINTS
    )
    return config


def _read_config(path: str, recipe: Optional[str], overrides: str) -> Dict[str, Any]:
    if recipe is None:
        return Params.from_file(path, overrides).as_dict(quiet=True)
    # In jsonnet the sum of two objects is the first with what the second changes.
    objects = " + ".join(f"(import {json.dumps(os.path.abspath(file))})" for file in (path, recipe))
    with NamedTemporaryFile("w", suffix=".jsonnet") as file:
        file.write(objects)
        file.flush()
        return Params.from_file(file.name, overrides).as_dict(quiet=True)


def _find_file(folder: str, pattern: str) -> str:
    found = sorted(glob(os.path.join(folder, pattern)))
    if not found:
        raise DataError(f"{folder}: there is no {pattern.rstrip('*')} in it, plain or gzipped")
    return found[0]


def find_variants(arguments: List[str]) -> Dict[str, str]:
    """The config files that are meant, by the name of the variant."""
    paths: List[str] = []
    for argument in arguments:
        named = find_config(os.path.join(VARIANTS_FOLDER, f"{argument}.jsonnet"))
        argument = find_config(argument)
        if os.path.isdir(argument):
            paths += sorted(glob(os.path.join(argument, "*.jsonnet")))
        elif os.path.isfile(argument):
            paths.append(argument)
        elif os.path.isfile(named):
            paths.append(named)
        else:
            known = sorted(glob(os.path.join(find_config(VARIANTS_FOLDER), "*.jsonnet")))
            raise DataError(
                f"there is no variant {argument!r}; known are: {', '.join(map(_name, known)) or 'none'}"
            )
    if not paths:
        raise DataError(f"there are no *.jsonnet files in {', '.join(arguments)}")
    names = [_name(path) for path in paths]
    if len(set(names)) < len(names):
        raise DataError(f"two of the variants have the same name: {', '.join(sorted(names))}")
    return dict(zip(names, paths, strict=True))


def _name(path: str) -> str:
    return os.path.splitext(os.path.basename(path))[0]


def load_configs(variants: Dict[str, str], overrides: str = "") -> Dict[str, Dict[str, Any]]:
    """
    The experiments of all variants. What is wrong with the last one should not be found out when the
    others are trained.
    """
    configs: Dict[str, Dict[str, Any]] = {}
    tasks: Dict[str, str] = {}
    for name, path in variants.items():
        configs[name] = Params.from_file(path, overrides).as_dict(quiet=True)
        if not isinstance(configs[name], dict):
            raise DataError(f"{path}: the config must be a JSON object")
        for key in ("model", "data_loader", "trainer"):
            if key not in configs[name]:
                raise DataError(f"{path}: the config has no key {key!r}")
            if not isinstance(configs[name][key], dict):
                raise DataError(f"{path}: {key!r} must be an object of JSON")
        # AllenNLP takes the bare name as well.
        output_layer = configs[name]["model"].get("output_layer", {})
        is_name = not isinstance(output_layer, dict)
        tasks[str(output_layer if is_name else output_layer.get("type", "span"))] = name
    if len(tasks) > 1:
        of_tasks = " and ".join(f"{task!r} ({name})" for task, name in tasks.items())
        raise DataError(f"models with the output layers {of_tasks} have no common score")
    return configs


def train_variant(config: Dict[str, Any], folder: str, steps: int, evaluations: int) -> None:
    """Trains for `steps` steps, or goes on where an earlier call was interrupted."""
    params = deepcopy(config)
    # What AllenNLP calls an epoch is the stretch between two evaluations here.
    params["data_loader"]["batches_per_epoch"] = steps // evaluations
    params["trainer"]["num_epochs"] = params["trainer"]["patience"] = evaluations
    train_or_resume(params, folder)


def train_runs(config: Dict[str, Any], folder: str, number: int) -> List[str]:
    """Trains what has not been trained, one after the other, and returns the archives."""
    if number < 1:
        raise DataError(f"an ensemble needs at least one model, not {number}")
    if config.get("model", {}).get("output_layer", {}).get("type", "span") != "span":
        raise DataError("only models with the output layer 'span' can be put together")
    archives = []
    for name, seeded in seeded_configs(config, number):
        print(f"[{name.removeprefix('run_')}/{number}] {name}", flush=True)
        train_or_resume(seeded, os.path.join(folder, name))
        archives.append(os.path.join(folder, name, "model.tar.gz"))
    return archives


def seeded_configs(config: Dict[str, Any], number: int) -> Iterator[Tuple[str, Dict[str, Any]]]:
    """The names of the runs and their configs, which differ in their seeds only."""
    for run in range(number):
        seeded = deepcopy(config)
        for seed in _SEEDS:
            seeded[seed] = config.get(seed, _DEFAULT_SEED) + run
        yield f"run_{run + 1}", seeded
