"""Sizes that a loss of the library needs and a configuration does not know."""

from __future__ import annotations

from collections.abc import Mapping

from reid_core.errors import ConfigError
from reid_plugin_pml.catalogue import class_of, parameters_of

#: Parameters of the library's losses that the trainer fills in.
_SIZES: Mapping[str, str] = {
    "num_classes": "num_classes",
    "embedding_size": "embedding_size",
    "descriptors_dim": "embedding_size",
}


def sizes_for(
    loss: str, params: Mapping[str, object] | None, sizes: Mapping[str, int | None]
) -> dict[str, int]:
    """Return the sizes that a loss cannot do without, by the names of its parameters.

    Args:
        loss: Name of the loss.
        params: What the configuration gives.
        sizes: What is known: ``num_classes`` and ``embedding_size``, each maybe None.

    Raises:
        ConfigError: The configuration sets one of them, or one is not known.
    """
    found = {}
    for key, parameter in parameters_of(class_of("losses", loss)).items():
        if key not in _SIZES or parameter.default is not parameter.empty:
            continue
        if key in (params or {}):
            where = "embedding_size" if _SIZES[key] == "embedding_size" else "the data"
            raise ConfigError(f"pml: {loss}: {key} is set by {where}; take it out of loss_params")
        size = sizes[_SIZES[key]]
        if size is None:
            raise ConfigError(
                f"pml: {loss} needs {key}, which is not known here; "
                + ("set embedding_size" if _SIZES[key] == "embedding_size" else "pass num_classes")
            )
        found[key] = size
    return found


def fixed_length(
    loss: str, needed: Mapping[str, int], sizes: Mapping[str, int | None], memory: int | None
) -> int | None:
    """Return the length of features that parameters or a memory fix, or None.

    Args:
        loss: Name of the loss.
        needed: What :func:`sizes_for` returned.
        sizes: What is known, as there.
        memory: Rows to remember, or None.

    Raises:
        ConfigError: A memory needs the length, and it is not known.
    """
    if memory is not None and sizes["embedding_size"] is None:
        raise ConfigError(
            f"pml: the memory of {loss} needs the length of the features, which is not known here; "
            "set embedding_size"
        )
    is_fixed = memory is not None or any(_SIZES[key] == "embedding_size" for key in needed)
    return sizes["embedding_size"] if is_fixed else None
