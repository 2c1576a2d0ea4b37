"""Full float32 products, whatever speed-up training has switched on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def full_float32(device: torch.device) -> Iterator[None]:
    """Compute matrix products in true float32 on ``device`` while the context lasts.

    Training often allows TF32 or bfloat16 products (autocast, or
    ``torch.set_float32_matmul_precision("high")``). These keep about three digits, which changes
    ranks: the same embeddings would score differently during training and afterwards. The former
    settings are restored on exit.

    Args:
        device: Where the product runs.
    """
    with _true_products(), torch.autocast(device.type, enabled=False):
        yield


@contextmanager
def _true_products() -> Iterator[None]:
    # Before torch 2.9 there is one setting for all backends; since then reading that one fails
    # where a single backend was set.
    if not hasattr(torch.backends, "fp32_precision"):
        former = torch.get_float32_matmul_precision()
        torch.set_float32_matmul_precision("highest")
        try:
            yield
        finally:
            torch.set_float32_matmul_precision(former)
        return
    backends = (torch.backends.cuda.matmul, torch.backends.mkldnn.matmul)  # type: ignore[attr-defined]
    precisions = [backend.fp32_precision for backend in backends]
    try:
        for backend in backends:
            backend.fp32_precision = "ieee"
        yield
    finally:
        for backend, precision in zip(backends, precisions, strict=True):
            backend.fp32_precision = precision
