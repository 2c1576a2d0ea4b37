"""A state as it is now, while training goes on changing the tensors it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from torch import Tensor


def snapshot(state: Mapping[str, object]) -> dict[str, object]:
    """Copy a state to the host.

    Args:
        state: Tensors and plain types, nested in mappings, lists and tuples.

    Returns:
        The same, sharing no memory with it. Tensors that are one (two keys of a tied weight) are
        one again. Mappings become plain dictionaries.
    """
    return cast("dict[str, object]", _copy(state, {}))


def _copy(value: object, done: dict[tuple[object, ...], Tensor]) -> object:
    if isinstance(value, Tensor):
        # By memory: each call of state_dict() makes new tensor objects.
        place = value.untyped_storage().data_ptr()
        key = (place, value.storage_offset(), value.shape, value.stride(), value.dtype)
        if place == 0:
            return value.detach().clone()
        if key not in done:
            done[key] = value.detach().to("cpu", copy=True)
        return done[key]
    if isinstance(value, Mapping):
        return {key: _copy(child, done) for key, child in value.items()}
    if isinstance(value, list):
        return [_copy(child, done) for child in value]
    if isinstance(value, tuple):
        return tuple(_copy(child, done) for child in value)
    return value
