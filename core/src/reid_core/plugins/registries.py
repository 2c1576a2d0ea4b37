"""One registry for each component kind."""

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
]
