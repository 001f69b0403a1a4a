from typing import Any, Dict, List, NamedTuple, Tuple, Type

import torch

from bidaf_plugin.common.errors import DataError


class Description(NamedTuple):
    """
    A part of a model in the terms of `bidaf_plugin.export.standalone`.

    # Parameters

    settings : `Dict[str, Any]`
        What JSON can hold.
    tensors : `Dict[str, torch.Tensor]`
    """

    settings: Dict[str, Any]
    tensors: Dict[str, torch.Tensor]


def check_type(thing: Any, types: Tuple[Type, ...], place: str) -> None:
    """What is not known exactly (not even a derived class) may compute anything."""
    if type(thing) not in types:
        names = ", ".join(known.__name__ for known in types)
        raise DataError(
            f"{place} is of class {type(thing).__name__}, which cannot be exported; what can is {names}"
        )


def refuse(place: str, what: str) -> None:
    raise DataError(f"{place} has {what}, which cannot be exported")


def plain_tensors(module: torch.nn.Module) -> Dict[str, torch.Tensor]:
    """The tensors of a module, without the underscores before names."""
    return {
        ".".join(name.lstrip("_") for name in path.split(".")): tensor
        for path, tensor in module.state_dict().items()
    }


def with_prefix(prefix: str, tensors: Dict[str, torch.Tensor]) -> Dict[str, torch.Tensor]:
    return {f"{prefix}.{name}": tensor for name, tensor in tensors.items()}


def join_tensors(prefix: str, descriptions: List[Description]) -> Dict[str, torch.Tensor]:
    """The tensors of several parts, numbered."""
    return {
        name: tensor
        for number, description in enumerate(descriptions)
        for name, tensor in with_prefix(f"{prefix}.{number}", description.tensors).items()
    }
