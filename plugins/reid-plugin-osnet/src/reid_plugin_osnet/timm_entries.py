"""timm's entry functions of the family; importing this needs timm, and registers nothing.

timm takes a model's name from its function, and the input it expects from ``default_cfgs``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import cast

from timm.models import (
    build_model_with_cfg,
    generate_default_cfgs,
    is_model,
    model_entrypoint,
    register_model,
)
from torch import nn

from reid_core.errors import PluginError
from reid_plugin_osnet.stages import Variant
from reid_plugin_osnet.timm_network import TimmOSNet

_PREFIXES: Mapping[str, Variant] = MappingProxyType(
    {"osnet": "plain", "osnet_ibn": "ibn", "osnet_ain": "ain"}
)
_WIDTHS = MappingProxyType({"x1_0": 1.0, "x0_75": 0.75, "x0_5": 0.5, "x0_25": 0.25})
#: timm keeps this list up to date with what was registered.
__all__ = ["register_entries"]


def register_entries() -> tuple[str, ...]:
    """Register every model of the family; see :func:`reid_plugin_osnet.timm_models.register`.

    Raises:
        PluginError: A name belongs to somebody else; none is registered then.
    """
    taken = [n for n, e in _ENTRIES.items() if is_model(n) and model_entrypoint(n) is not e]
    if taken:
        raise PluginError(
            f"timm has models named {', '.join(taken)} already, which are not this package's; "
            "expected free names, so none was registered. Use timm's, or build ours with "
            "reid_plugin_osnet.osnet, osnet_ibn and osnet_ain"
        )
    for name, entry in _ENTRIES.items():
        if not is_model(name):
            register_model(entry)
    return tuple(_ENTRIES)


def _entry(name: str, variant: Variant, width: float) -> Callable[..., nn.Module]:
    def create(pretrained: bool = False, **kwargs: object) -> nn.Module:
        model = cast("Callable[..., object]", build_model_with_cfg)(
            partial(TimmOSNet, variant=variant, width=width),
            name,
            pretrained,
            feature_cfg={"feature_cls": "hook", "out_indices": (0, 1, 2, 3)},
            **kwargs,
        )
        return cast("nn.Module", model)

    create.__name__ = create.__qualname__ = name
    return create


def _default_cfg() -> dict[str, object]:
    # Without a source: nobody publishes these files at an address that timm could be given.
    return {
        "input_size": (3, 256, 128),
        "pool_size": (16, 8),
        "crop_pct": 1.0,
        "interpolation": "bilinear",
        "first_conv": "conv1.conv",
        "classifier": "classifier",
    }


_ENTRIES: Mapping[str, Callable[..., nn.Module]] = MappingProxyType(
    {
        f"{prefix}_{suffix}": _entry(f"{prefix}_{suffix}", variant, width)
        for prefix, variant in _PREFIXES.items()
        for suffix, width in _WIDTHS.items()
    }
)

default_cfgs = generate_default_cfgs({name: _default_cfg() for name in _ENTRIES})
