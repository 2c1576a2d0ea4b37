"""Parameters of a timm network by depth."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from timm.models._manipulate import group_with_matcher
from torch import nn


class _Grouped(Protocol):
    def group_matcher(self, coarse: bool = False) -> dict[str, object]: ...


def find_layer_groups(network: nn.Module) -> list[list[str]]:
    """Return the names of all parameters as lists by depth: the stem, then block by block.

    Uses timm's own patterns of the architecture. What they do not cover, which lies behind the
    last block, is the last group.

    Args:
        network: A timm model.
    """
    matcher = cast("_Grouped", network).group_matcher(coarse=False)
    grouped: Mapping[int, list[str]] = group_with_matcher(network.named_parameters(), matcher)
    return [list(grouped[depth]) for depth in sorted(grouped)]
