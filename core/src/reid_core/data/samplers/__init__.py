"""Samplers: which images form the batches of an epoch."""

from reid_core.data.samplers.base import EpochSampler

__all__ = ["EpochSampler"]
