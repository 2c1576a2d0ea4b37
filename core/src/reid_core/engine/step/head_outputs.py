"""Outputs of heads, tensor by tensor: cut, put together, and made leaves of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from reid_core.contracts import HeadOutput
from reid_core.errors import PluginError


def tensors_of(output: HeadOutput) -> list[Tensor]:
    """Return all tensors of an output, each (B, …), in an order that its names decide."""
    groups = (output.features, output.logits, output.scores or {})
    named = [group[name] for group in groups for name in sorted(group)]
    attributes = [] if output.attributes is None else [output.attributes]
    return [output.embedding, *named, *attributes]


def joined(parts: Sequence[HeadOutput]) -> HeadOutput:
    """Put the outputs of consecutive rows together.

    Args:
        parts: At least one; all with the same names.

    Returns:
        The output of all rows.

    Raises:
        PluginError: They differ in names.
    """
    names = [_names_of(part) for part in parts]
    if any(other != names[0] for other in names):
        raise PluginError(
            "the head gave other outputs for one part of a batch than for another: "
            f"{names[0]} and {next(other for other in names if other != names[0])}; expected the "
            "same names for each"
        )
    return _mapped(torch.cat, parts)


def as_leaves(output: HeadOutput) -> HeadOutput:
    """Return the same values, detached, each to be given a gradient where it can have one."""
    return _mapped(lambda tensors: _leaf(tensors[0]), [output])


def _leaf(tensor: Tensor) -> Tensor:
    leaf = tensor.detach()
    return leaf.requires_grad_() if leaf.is_floating_point() else leaf


def _names_of(output: HeadOutput) -> list[str]:
    names = [f"features {name}" for name in output.features]
    names += [f"logits {name}" for name in output.logits]
    names += [f"scores {name}" for name in output.scores or {}]
    return sorted([*names, *(["attributes"] if output.attributes is not None else [])])


def _mapped(
    function: Callable[[list[Tensor]], Tensor], outputs: Sequence[HeadOutput]
) -> HeadOutput:
    """Apply a function to the tensors of one name in all outputs, name by name."""

    def group(groups: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
        return {name: function([each[name] for each in groups]) for name in groups[0]}

    first = outputs[0]
    return HeadOutput(
        embedding=function([output.embedding for output in outputs]),
        features=group([output.features for output in outputs]),
        logits=group([output.logits for output in outputs]),
        scores=None if first.scores is None else group([o.scores or {} for o in outputs]),
        attributes=None
        if first.attributes is None
        else function([o.attributes for o in outputs if o.attributes is not None]),
    )
