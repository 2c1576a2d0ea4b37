"""A run on a part of its training batches, for trying something out."""

from __future__ import annotations

import logging

from reid_core.config.training import TrainConfig
from reid_core.data.samplers import EpochSampler
from reid_core.data.samplers.limited import LimitedSampler
from reid_core.wording import counted

log = logging.getLogger("reid_core")


def limited(sampler: EpochSampler, train: TrainConfig) -> EpochSampler:
    """Cut the epochs of a sampler to what ``limit_batches`` or ``overfit_batches`` leaves.

    Args:
        sampler: Draws the batches of a whole epoch.
        train: The settings, of which one at most is set.

    Returns:
        The sampler itself where neither is set.
    """
    for key, number in (
        ("limit_batches", train.limit_batches),
        ("overfit_batches", train.overfit_batches),
    ):
        if number is None:
            continue
        if number > len(sampler):
            log.info("train.%s is %d: an epoch has %d, all are used", key, number, len(sampler))
        sampler = LimitedSampler(sampler, number)
    if train.overfit_batches is not None:
        log.warning(
            "train.overfit_batches: the same %d batches are trained on again and again; the "
            "figures say nothing about other images",
            len(sampler),
        )
    return sampler


def limit_caveats(train: TrainConfig, num_batches: int) -> tuple[str, ...]:
    """Say beside the figures of a run that it is no whole one.

    Args:
        train: The settings.
        num_batches: Batches of an epoch of the run.
    """
    if train.overfit_batches is not None:
        return (
            f"trained on the same {counted(num_batches, 'batch', 'batches')} again and again "
            "(train.overfit_batches)",
        )
    if train.limit_batches is not None and num_batches == train.limit_batches:
        batches = counted(num_batches, "batch", "batches")
        return (f"trained on {batches} an epoch (train.limit_batches)",)
    return ()
