"""The OSNet family under timm's own ``create_model``, once a program asks for it."""

from __future__ import annotations

import importlib
from typing import Protocol, cast

from reid_core.errors import PluginError


class _Entries(Protocol):
    def register_entries(self) -> tuple[str, ...]: ...


def register() -> tuple[str, ...]:
    """Make the networks of this package known to timm.

    Nothing is registered by an import. Calling this again changes nothing. A name that timm, or
    somebody else, has taken is never overwritten; then no name is registered.

    Example::

        from reid_plugin_osnet import timm_models

        timm_models.register()
        model = timm.create_model("osnet_x1_0", num_classes=751)

    Returns:
        The names, ``osnet_x1_0`` and so on: three networks at four widths.

    Raises:
        PluginError: timm is not installed, or it has a model of one of these names already.
    """
    try:
        importlib.import_module("timm")
    except ModuleNotFoundError as error:
        raise PluginError(
            "the OSNet family cannot be registered for timm, which is not installed; "
            "pip install 'reid-plugin-osnet[timm]'"
        ) from error
    entries = importlib.import_module("reid_plugin_osnet.timm_entries")
    return cast("_Entries", entries).register_entries()
