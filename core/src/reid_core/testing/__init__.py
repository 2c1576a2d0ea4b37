"""For the tests of plugin authors: a conformance kit, and data that trains in a second.

A class of tests for each kind of component; see :class:`reid_core.testing.Conformance`. Fixtures
for pytest are in :mod:`reid_core.testing.fixtures`. Names are imported on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reid_core.testing.backbone import BackboneConformance
    from reid_core.testing.base import Conformance
    from reid_core.testing.batches import tiny_reid_batch
    from reid_core.testing.dataset import DatasetConformance
    from reid_core.testing.head import HeadConformance
    from reid_core.testing.hook import HookConformance
    from reid_core.testing.loss import LossConformance
    from reid_core.testing.market import write_tiny_market
    from reid_core.testing.model import ModelConformance
    from reid_core.testing.optimizer import OptimizerConformance
    from reid_core.testing.protocol import ProtocolConformance
    from reid_core.testing.recipe import RecipeConformance
    from reid_core.testing.reranker import RerankerConformance
    from reid_core.testing.sampler import SamplerConformance
    from reid_core.testing.schedule import ScheduleConformance
    from reid_core.testing.transform import TransformConformance

__all__ = [
    "BackboneConformance",
    "Conformance",
    "DatasetConformance",
    "HeadConformance",
    "HookConformance",
    "LossConformance",
    "ModelConformance",
    "OptimizerConformance",
    "ProtocolConformance",
    "RecipeConformance",
    "RerankerConformance",
    "SamplerConformance",
    "ScheduleConformance",
    "TransformConformance",
    "tiny_reid_batch",
    "write_tiny_market",
]

_HOMES = {
    "BackboneConformance": "backbone",
    "Conformance": "base",
    "DatasetConformance": "dataset",
    "HeadConformance": "head",
    "HookConformance": "hook",
    "LossConformance": "loss",
    "ModelConformance": "model",
    "OptimizerConformance": "optimizer",
    "ProtocolConformance": "protocol",
    "RecipeConformance": "recipe",
    "RerankerConformance": "reranker",
    "SamplerConformance": "sampler",
    "ScheduleConformance": "schedule",
    "TransformConformance": "transform",
    "tiny_reid_batch": "batches",
    "write_tiny_market": "market",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(f"reid_core.testing.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'reid_core.testing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
