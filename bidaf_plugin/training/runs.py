"""
From config files to experiments, and from experiments to runs that go on where they were interrupted, and that
may have only so much time: the paper's model, the variants of a study, the members of an ensemble.
"""

import json
import os
import time
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from functools import partial
from glob import glob
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Callable, ContextManager, Dict, Iterator, List, Optional

from allennlp.commands.train import train_model
from allennlp.common import Params
from allennlp.models import archival
from allennlp.training import TrainerCallback, gradient_descent_trainer
from overrides import overrides

from bidaf_plugin.archives.config_check import read_plain_json
from bidaf_plugin.archives.packaged import find_config
from bidaf_plugin.common.errors import DAMAGES, DataError
from bidaf_plugin.common.folders import used_alone
from bidaf_plugin.common.tar_files import read_tar_gz

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
        has_no_answer = config["model"].get("output_layer", {}).get("no_answer", False)
        version = "2.0" if has_no_answer else "1.1"
        config["train_data_path"] = _find_file(data, f"squad/train-v{version}.json*")
        config["validation_data_path"] = _find_file(data, f"squad/dev-v{version}.json*")
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
            known = sorted(
                path.stem for path in Path(find_config(VARIANTS_FOLDER)).glob("*.jsonnet")
            )
            raise DataError(
                f"there is no variant {argument!r}; known are: {', '.join(known) or 'none'}"
            )
    if not paths:
        raise DataError(f"there are no *.jsonnet files in {', '.join(arguments)}")
    names = [Path(path).stem for path in paths]
    if len(set(names)) < len(names):
        raise DataError(f"two of the variants have the same name: {', '.join(sorted(names))}")
    return dict(zip(names, paths, strict=True))


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
    train_or_resume(variant_params(config, steps, evaluations), folder)


def variant_params(config: Dict[str, Any], steps: int, evaluations: int) -> Dict[str, Any]:
    """The experiment for `steps` steps, with so many scores."""
    params = deepcopy(config)
    # What AllenNLP calls an epoch is the stretch between two evaluations here.
    params["data_loader"]["batches_per_epoch"] = steps // evaluations
    params["trainer"]["num_epochs"] = params["trainer"]["patience"] = evaluations
    return params


def member_params(config: Dict[str, Any], number: int) -> Dict[str, Dict[str, Any]]:
    """The experiments of the members of an ensemble, which differ by their seeds, by the names of their runs."""
    if number < 1:
        raise DataError(f"an ensemble needs at least one model, not {number}")
    if config.get("model", {}).get("output_layer", {}).get("type", "span") != "span":
        raise DataError("only models with the output layer 'span' can be put together")
    return {
        f"run_{run + 1}": {
            **config,
            **{seed: config.get(seed, _DEFAULT_SEED) + run for seed in _SEEDS},
        }
        for run in range(number)
    }


def train_runs(config: Dict[str, Any], folder: str, number: int) -> List[str]:
    """Trains what has not been trained, one after the other, and returns the archives."""
    archives = []
    for count, (name, params) in enumerate(member_params(config, number).items(), start=1):
        print(f"[{count}/{number}] {name}", flush=True)
        train_or_resume(params, os.path.join(folder, name))
        archives.append(os.path.join(folder, name, "model.tar.gz"))
    return archives


def train_or_resume(params: Dict[str, Any], folder: str, minutes: Optional[float] = None) -> None:
    """
    Trains, or goes on where an earlier call was interrupted; a finished run is left alone. What was
    begun with other settings does not pass for the same.

    # Parameters

    params : `Dict[str, Any]`
        The experiment.
    folder : `str`
        Where the run goes. It has a model.tar.gz afterwards: of the best weights so far, if the time was
        up.
    minutes : `float`, optional (default = `None`)
        How long to train; None for as long as it takes.
    """
    with used_alone(folder):
        _train_or_resume(params, folder, minutes)


def _train_or_resume(params: Dict[str, Any], folder: str, minutes: Optional[float]) -> None:
    config_path = os.path.join(folder, "config.json")
    is_begun = os.path.exists(config_path)
    if is_begun and read_plain_json(config_path) != params:
        raise DataError(
            f"{folder} was begun with other settings (see its config.json): use another folder, or "
            "remove it"
        )
    if os.path.exists(os.path.join(folder, "metrics.json")):
        if not _is_whole(os.path.join(folder, "model.tar.gz")):
            # Training had ended, and was interrupted while AllenNLP wrote the archive.
            archival.archive_model(folder)
        return
    try:
        with _time_budget(minutes):
            train_model(
                Params(deepcopy(params)), folder, recover=is_begun, file_friendly_logging=True
            )
    except OutOfTime:
        if not os.path.exists(os.path.join(folder, "best.th")):
            raise DataError(
                f"{folder}: there was no time for a single score; run again to go on"
            ) from None
        archival.archive_model(folder)


def _is_whole(archive_path: str) -> bool:
    """Whether an archive can be read to its end."""
    try:
        return len(list(read_tar_gz(archive_path, archive_path))) > 0
    except (*DAMAGES, OSError, DataError):
        return False


class OutOfTime(Exception):
    """Training ended because its time was up. It can be taken up again from the last checkpoint."""


class TimeBudgetCallback(TrainerCallback):
    """
    Ends training, by `OutOfTime`, where one more epoch would not fit into the minutes that are left. Only
    whole epochs count, because only they end with a score.
    """

    def __init__(self, serialization_dir: str, minutes: float) -> None:
        super().__init__(serialization_dir)
        self._deadline = time.monotonic() + 60 * minutes
        self._epoch_start = time.monotonic()
        self._is_over = False

    @overrides(check_signature=False)
    def on_epoch(self, *args: Any, **kwargs: Any) -> None:
        now = time.monotonic()
        duration, self._epoch_start = now - self._epoch_start, now
        self._is_over = now + duration > self._deadline

    @overrides(check_signature=False)
    def on_batch(self, *args: Any, is_training: bool, **kwargs: Any) -> None:
        # Not at the end of the epoch, which AllenNLP saves only after `on_epoch`.
        if self._is_over and is_training:
            raise OutOfTime


def _time_budget(minutes: Optional[float]) -> ContextManager[None]:
    if minutes is None:
        return nullcontext()
    return with_callback(partial(TimeBudgetCallback, minutes=minutes))


@contextmanager
def with_callback(callback: Callable[..., TrainerCallback]) -> Iterator[None]:
    """For all training inside. (Not through the config, which stays the same when training goes on.)"""
    callbacks = gradient_descent_trainer.DEFAULT_CALLBACKS
    try:
        gradient_descent_trainer.DEFAULT_CALLBACKS = (*callbacks, callback)
        yield
    finally:
        gradient_descent_trainer.DEFAULT_CALLBACKS = callbacks
