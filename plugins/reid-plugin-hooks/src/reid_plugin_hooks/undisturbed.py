"""Computing with the model of a run without leaving a trace in it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from reid_core.checkpoint.random_state import random_state, set_random_state


@contextmanager
def undisturbed(model: nn.Module, *, results: Collection[Tensor] = ()) -> Iterator[None]:
    """Put random states and buffers back afterwards, whatever was computed inside.

    Buffers are what a forward pass in training mode changes: batch statistics, the memory of a
    loss.

    Args:
        model: Whose buffers are put back.
        results: Buffers that keep what was computed, unless an exception leaves the block.
    """
    random = random_state()
    wanted = {id(buffer) for buffer in results}
    former = [
        (module, name, buffer, buffer.clone())
        for module in model.modules()
        for name, buffer in module.named_buffers(recurse=False)
    ]
    is_done = False
    try:
        yield
        is_done = True
    finally:
        with torch.no_grad():
            for module, name, buffer, value in former:
                if is_done and id(buffer) in wanted:
                    continue
                # The same tensor as before: a module may have put another in its place.
                setattr(module, name, buffer)
                buffer.copy_(value)
        set_random_state(random)
