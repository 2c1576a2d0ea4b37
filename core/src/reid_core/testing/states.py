"""Saved states: through a file and back, and compared."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor


def through_a_file(state: object) -> object:
    """Save a state and load it again, as a checkpoint does: without running code."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


def first_difference(left: object, right: object, place: str = "state") -> str:
    """Say where two states differ; empty when they do not.

    Args:
        left: Tensors and plain types, nested.
        right: Likewise.
        place: Where these two stand.
    """
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        is_equal = left.shape == right.shape and left.dtype == right.dtype
        is_equal = is_equal and torch.equal(left.nan_to_num(), right.nan_to_num())
        return "" if is_equal else f"{place} is another tensor"
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in {**left, **right}:
            if key not in left or key not in right:
                return f"{place}[{key!r}] is there only {'before' if key in left else 'after'}"
            difference = first_difference(left[key], right[key], f"{place}[{key!r}]")
            if difference:
                return difference
        return ""
    if _is_sequence(left) and _is_sequence(right):
        assert isinstance(left, Sequence)
        assert isinstance(right, Sequence)
        if len(left) != len(right):
            return f"{place} had {len(left)} entries, now {len(right)}"
        pairs = enumerate(zip(left, right, strict=True))
        found = (first_difference(a, b, f"{place}[{i}]") for i, (a, b) in pairs)
        return next(filter(None, found), "")
    both_nan = left != left and right != right
    is_equal = both_nan or (type(left) is type(right) and left == right)
    return "" if is_equal else f"{place} was {left!r}, now {right!r}"


def _is_sequence(value: object) -> bool:
    return isinstance(value, list | tuple)
