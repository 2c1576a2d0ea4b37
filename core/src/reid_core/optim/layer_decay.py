"""A learning rate that falls from the last layer of the backbone to the first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from torch import nn

from reid_core.errors import ConfigError, PluginError


def layer_factors(model: nn.Module, decay: float) -> dict[str, float]:
    """Return the factor on the learning rate of every parameter that belongs to a layer.

    With L layers, layer l, from 0 at the images, has the factor ``decay ** (L - l)``; everything
    outside the layers keeps 1.

    Args:
        model: Its ``layer_groups()`` say which parameters a layer has; without them those of its
            ``backbone``.
        decay: Factor from each layer to the one before it, above 0 and at most 1.

    Returns:
        Factors by the full name of the parameter.

    Raises:
        ConfigError: Neither has ``layer_groups()``.
        PluginError: They name no parameter, one twice, or leave some of the backbone's out.

    Source: Bao et al., BEiT, ICLR 2022, appendix, "layer-wise learning rate decay".
    """
    owner, prefix = _owner(model)
    groups: Sequence[Sequence[str]] = owner.layer_groups()
    _require_complete(owner, groups, is_whole_model=not prefix)
    return {
        f"{prefix}{name}": decay ** (len(groups) - depth)
        for depth, names in enumerate(groups)
        for name in names
    }


def _owner(model: nn.Module) -> tuple[_HasLayers, str]:
    backbone = getattr(model, "backbone", None)
    for owner, prefix in ((model, ""), (backbone, "backbone.")):
        if callable(getattr(owner, "layer_groups", None)):
            return owner, prefix  # type: ignore[return-value]
    what = type(model if backbone is None else backbone).__name__
    raise ConfigError(
        f"train.optimizer.layer_decay: {what} does not say which layer comes after which (it has "
        "no layer_groups()); set layer_decay=null, or use head_lr_factor"
    )


class _HasLayers(nn.Module):
    """A module that knows its layers."""

    def layer_groups(self) -> list[list[str]]:
        """Return the names of its own parameters, by depth, from the images on."""
        raise NotImplementedError


def _require_complete(
    owner: nn.Module, groups: Sequence[Sequence[str]], *, is_whole_model: bool
) -> None:
    named = Counter(name for group in groups for name in group)
    there = {name for name, _ in owner.named_parameters()}
    unknown = [name for name in named if name not in there]
    twice = [name for name, count in named.items() if count > 1]
    # A whole model leaves out what lies behind the backbone.
    missing = [] if is_whole_model else sorted(there - named.keys())
    for names, fault in ((unknown, "are none of"), (twice, "are there twice of")):
        if names:
            raise PluginError(
                f"layer_groups() of {type(owner).__name__}: {', '.join(names[:3])} {fault} its "
                f"{len(there)} parameters"
            )
    if missing:
        raise PluginError(
            f"layer_groups() of {type(owner).__name__} leaves out {len(missing)} of its "
            f"{len(there)} parameters: {', '.join(missing[:3])}"
        )
