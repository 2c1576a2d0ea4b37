"""Which part of a model raised an exception, and which distribution it comes from."""

from __future__ import annotations

import traceback
from collections.abc import Iterator

from torch import nn

from reid_core.plugins.origin import origin_of


def find_part(error: BaseException, *models: nn.Module) -> str | None:
    """Name the part of a model that an exception came out of, or return None.

    It is read from the traceback, so that calls cost nothing as long as all goes well.

    Args:
        error: The exception, caught.
        *models: Models whose backbone, head or loss it may be.
    """
    parts = {id(part): (name, part) for model in models for name, part in _parts_of(model)}
    found = None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        name, part = parts.get(id(frame.f_locals.get("self")), ("", None))
        if part is not None:
            found = f"{name} of the model, {type(part).__name__} ({origin_of(part)})"
    return found


def _parts_of(model: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    for name, child in model.named_children():
        if isinstance(child, nn.ModuleList | nn.ModuleDict):
            yield from ((f"{name}.{key}", part) for key, part in child.named_children())
        else:
            yield name, child
