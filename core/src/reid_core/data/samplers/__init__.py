"""Samplers: which rows form the batches of an epoch. Finite, seeded, of exact length."""

from reid_core.data.samplers.base import EpochSampler
from reid_core.data.samplers.sharded import ShardedSampler

__all__ = ["EpochSampler", "ShardedSampler"]
