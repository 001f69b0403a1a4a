"""
Training on several hosts: how long they wait for one that does not answer any more. (From which checkpoint all of
them go on is in `checkpoints.py`.)
"""

import inspect
from datetime import timedelta
from functools import partial
from typing import Any

import torch.distributed
from allennlp.commands import train

from bidaf_plugin.common.errors import DataError

# Torch's own is half an hour.
_SECONDS = 600.0
_allennlp_train_worker = train._train_worker
_init_process_group = torch.distributed.init_process_group


def train_worker(*args: Any, **kwargs: Any) -> Any:
    """
    AllenNLP's function for a process of training, with a further key of `distributed` in the config: `timeout`, the
    seconds after which a process that waits for another one gives up. (Processes are spawned with this function,
    and so it must be found by its name.)
    """
    arguments = inspect.signature(_allennlp_train_worker).bind(*args, **kwargs).arguments
    distributed_params = arguments.get("distributed_params")
    if distributed_params is not None:
        seconds = distributed_params.pop("timeout", _SECONDS)
        if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
            raise DataError(
                f"in the config: distributed.timeout must be seconds, more than 0, not {seconds!r}"
            )
        torch.distributed.init_process_group = partial(
            _init_process_group, timeout=timedelta(seconds=seconds)
        )
    return _allennlp_train_worker(*args, **kwargs)


def install() -> None:
    train._train_worker = train_worker
