"""The buffers of a model as they were, to take back what a forward pass did to them."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn


class BufferSnapshot:
    """Copies of the buffers of modules: running statistics, memories, counters.

    Args:
        model: Whose buffers are copied.
        without: Modules of it whose buffers are left out, with all that is in them.
    """

    def __init__(self, model: nn.Module, *, without: tuple[nn.Module, ...] = ()) -> None:
        left_out = {id(part) for module in without for part in module.modules()}
        self._kept = [
            (module, name, buffer, buffer.detach().clone())
            for module, name, buffer in _buffers(model)
            if id(module) not in left_out
        ]

    @torch.no_grad()
    def restore(self) -> None:
        """Make the buffers what they were when the snapshot was taken."""
        for module, name, buffer, before in self._kept:
            buffer.copy_(before)
            # A module may have put a new tensor in the old one's place.
            if getattr(module, name) is not buffer:
                setattr(module, name, buffer)


def _buffers(model: nn.Module) -> Iterator[tuple[nn.Module, str, Tensor]]:
    for module in model.modules():
        for name, buffer in module.named_buffers(recurse=False):
            yield module, name, buffer
