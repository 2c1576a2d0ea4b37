"""Tensors that lie in shares, one a process: whole ones of them, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar, cast

import torch
from torch import Tensor

if TYPE_CHECKING:
    from torch.distributed.tensor import DTensor

T = TypeVar("T")


def is_shared(tensor: object) -> bool:
    """Say whether a tensor lies in shares."""
    return hasattr(tensor, "full_tensor")


def whole(value: T) -> T:
    """Return a state without shares; all processes have to call it where there are some.

    Args:
        value: Tensors and plain types, nested in mappings, lists and tuples.

    Returns:
        The same with whole tensors; what is no share is the very same object.
    """
    return cast("T", _whole(value))


def share_like(value: Tensor, own: Tensor) -> Tensor:
    """Return this process' share of a tensor that all processes have; all have to call it.

    Args:
        value: The whole tensor.
        own: How it is to be shared: like this one; where that is whole, so is the result.
    """
    if not is_shared(own):
        return value
    from torch.distributed.tensor import distribute_tensor

    like = cast("DTensor", own)
    given = value.to(like.device, like.dtype)
    return distribute_tensor(given, like.device_mesh, like.placements)


def share_states(
    state: Mapping[str, object], optimizer: torch.optim.Optimizer
) -> Mapping[str, object]:
    """Return an optimizer's state with moments in shares, as its parameters are.

    Args:
        state: A whole state, as :func:`whole` made it.
        optimizer: Whose parameters they belong to; left as it is.
    """
    parameters = [p for group in optimizer.param_groups for p in group["params"]]
    if not any(is_shared(parameter) for parameter in parameters):
        return state
    saved = cast("Mapping[int, Mapping[str, object]]", state["state"])
    shared = {
        number: {
            name: share_like(value, parameters[number])
            if isinstance(value, Tensor) and value.shape == parameters[number].shape
            else value
            for name, value in entries.items()
        }
        for number, entries in saved.items()
        if number < len(parameters)
    }
    return {**state, "state": shared}


def _whole(value: object) -> object:
    if isinstance(value, Tensor):
        return cast("DTensor", value).full_tensor() if is_shared(value) else value
    if isinstance(value, Mapping):
        return {key: _whole(child) for key, child in value.items()}
    if isinstance(value, list):
        return [_whole(child) for child in value]
    if isinstance(value, tuple):
        return tuple(_whole(child) for child in value)
    return value
