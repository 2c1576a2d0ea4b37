"""Models: how a backbone, a head and losses are composed."""

from reid_core.models.baseline import Baseline

__all__ = ["Baseline"]
