"""Where an object comes from, in words."""

from __future__ import annotations

from reid_core.plugins.index import installed
from reid_core.plugins.local_files import plugin_file_of


def origin_of(instance: object) -> str:
    """Name the distribution and version that an object comes from, or its module.

    Args:
        instance: A hook or a loss, for example, or its class.
    """
    kind = instance if isinstance(instance, type) else type(instance)
    file = plugin_file_of(kind)
    if file is not None:
        return f"plugin file {file.path}"
    refs = [ref for ref in installed().refs if ref.status != "shadowed"]
    exact = f"{kind.__module__}:{kind.__qualname__}"
    package = kind.__module__.partition(".")[0]
    for ref in refs:
        if ref.value == exact:
            return f"{ref.dist} {ref.version}"
    for ref in refs:
        if ref.value.partition(":")[0].partition(".")[0] == package:
            return f"{ref.dist} {ref.version}"
    return f"module {kind.__module__}"
