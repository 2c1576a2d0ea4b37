"""One registry for each component kind."""

from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.registry import Registry

BACKBONES = Registry("backbones")
HEADS = Registry("heads")
LOSSES = Registry("losses")
HOOKS = Registry("hooks")
MODELS = Registry("models")
DATASETS = Registry("datasets")
SAMPLERS = Registry("samplers")
TRANSFORMS = Registry("transforms")
OPTIMIZERS = Registry("optimizers")
SCHEDULES = Registry("schedules")
PROTOCOLS = Registry("protocols")
RERANKERS = Registry("rerankers")

_BY_KIND = {
    registry.kind: registry
    for registry in (
        BACKBONES,
        HEADS,
        LOSSES,
        HOOKS,
        MODELS,
        DATASETS,
        SAMPLERS,
        TRANSFORMS,
        OPTIMIZERS,
        SCHEDULES,
        PROTOCOLS,
        RERANKERS,
    )
}


def registry_of(kind: str) -> Registry:
    """Return the registry of a kind.

    Args:
        kind: One of ``KINDS``, but ``recipes``, which are no objects.

    Raises:
        KeyError: There is none.
    """
    return _BY_KIND[kind]


def local_components() -> tuple[ComponentRef, ...]:
    """Return what was registered in this process, of every kind."""
    return tuple(ref for registry in _BY_KIND.values() for ref in registry.local())


__all__ = [
    "BACKBONES",
    "DATASETS",
    "HEADS",
    "HOOKS",
    "LOSSES",
    "MODELS",
    "OPTIMIZERS",
    "PROTOCOLS",
    "RERANKERS",
    "SAMPLERS",
    "SCHEDULES",
    "TRANSFORMS",
    "local_components",
    "registry_of",
]
