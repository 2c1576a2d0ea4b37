"""Two states compared, so that what was saved is known to be what is read back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import torch
from torch import Tensor


def find_difference(left: object, right: object, place: str = "") -> str | None:
    """Say where two states differ.

    Args:
        left: Tensors of any device and plain types, nested.
        right: Likewise.
        place: Where these two stand.

    Returns:
        The dotted place; None where they are equal, bit by bit but for the kind of a NaN.
    """
    if isinstance(left, Tensor) and isinstance(right, Tensor):
        return None if _are_equal(left.detach().cpu(), right.detach().cpu()) else place
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        for key in [*left, *(key for key in right if key not in left)]:
            inside = f"{place}.{key}" if place else str(key)
            if key not in left or key not in right:
                return inside
            found = find_difference(left[key], right[key], inside)
            if found is not None:
                return found
        return None
    if _is_list(left) and _is_list(right):
        ours, theirs = cast("Sequence[object]", left), cast("Sequence[object]", right)
        for position, (one, other) in enumerate(zip(ours, theirs, strict=False)):
            found = find_difference(one, other, f"{place}.{position}")
            if found is not None:
                return found
        return None if len(ours) == len(theirs) else place
    if isinstance(left, Tensor) or isinstance(right, Tensor):
        return place
    is_same = left == right or (left != left and right != right)
    return None if is_same else place


def _are_equal(left: Tensor, right: Tensor) -> bool:
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    same = left == right
    if left.is_floating_point() or left.is_complex():
        same |= left.isnan() & right.isnan()
    return bool(torch.as_tensor(same).all())


def _is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)
