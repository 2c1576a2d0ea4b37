"""TensorFloat-32 on NVIDIA GPUs: float32 products of which 10 bits of a factor count."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import torch


@contextmanager
def tf32_switched(is_on: bool) -> Iterator[None]:
    """Switch TensorFloat-32 on NVIDIA GPUs while the context lasts, then back.

    Args:
        is_on: Whether float32 products and convolutions are computed in it. Left alone, torch does
            so with convolutions, and not with products.
    """
    cuda, cudnn = torch.backends.cuda, torch.backends.cudnn
    with ExitStack() as stack:
        # The older switches, which every torch has: with the newer ones alone torch.compile, which
        # reads these, fails. The newer ones change along, and one may have been set by itself.
        if hasattr(torch.backends, "fp32_precision"):
            for part in (cuda.matmul, cudnn.conv, cudnn.rnn):  # type: ignore[attr-defined]
                stack.callback(setattr, part, "fp32_precision", part.fp32_precision)
        _restore_later(stack, cuda.matmul)
        _restore_later(stack, cudnn)
        cuda.matmul.allow_tf32 = is_on
        cudnn.allow_tf32 = is_on
        yield


def _restore_later(stack: ExitStack, part: object) -> None:
    try:
        former = part.allow_tf32  # type: ignore[attr-defined]  # checked by its caller
    except RuntimeError:
        return  # only the newer switches were set, and those are taken back
    stack.callback(setattr, part, "allow_tf32", former)
