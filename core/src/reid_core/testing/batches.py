"""A batch of P identities with K images each, for tests."""

from __future__ import annotations

import torch

from reid_core.contracts import Batch
from reid_core.testing.tensors import random_normal


def tiny_reid_batch(
    *,
    identities: int = 4,
    instances: int = 4,
    cameras: int = 2,
    image_size: tuple[int, int] = (64, 32),
    seed: int = 0,
) -> Batch:
    """Return a normalised training batch; images of one identity stand side by side.

    Args:
        identities: P.
        instances: K.
        cameras: Cameras, taken in turn.
        image_size: Height and width in pixels.
        seed: Seed of the pixels.

    Returns:
        images (P*K, 3, H, W) float32; pids 0..P-1, camids and index (P*K,) int64; columns
        ``viewids`` (P*K,) int64, two views, and ``attributes`` (P*K, 3) int64 of 0 and 1.
    """
    rows = identities * instances
    return Batch(
        images=random_normal((rows, 3, *image_size), seed),
        pids=torch.arange(identities).repeat_interleave(instances),
        camids=torch.arange(rows) % cameras,
        index=torch.arange(rows),
        columns={
            "viewids": torch.arange(rows) // 2 % 2,
            "attributes": torch.stack([torch.arange(rows) // k % 2 for k in (1, 2, 4)], dim=1),
        },
    )
