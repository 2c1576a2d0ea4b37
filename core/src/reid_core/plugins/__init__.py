"""The plugin layer: an index of what is installed, and registries that load it by name.

Nothing here imports a plugin or torch until a name is asked for.
"""

from reid_core.plugins.index import (
    KINDS,
    ComponentRef,
    PluginIndex,
    disabled_plugins,
    installed,
    rescan,
)
from reid_core.plugins.metadata import PLUGIN_API
from reid_core.plugins.registry import Registry

__all__ = [
    "KINDS",
    "PLUGIN_API",
    "ComponentRef",
    "PluginIndex",
    "Registry",
    "disabled_plugins",
    "installed",
    "rescan",
]
