"""``train.compile``: the parts of a model through ``torch.compile``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from reid_core.errors import ConfigError
from reid_core.models.weighted_losses import WeightedLosses

log = logging.getLogger("reid_core")


def compile_parts(model: nn.Module, device: torch.device) -> None:
    """Compile every part of a model but its losses, each when it is first called.

    The parts are compiled in place: the model stays what it is, and so do the names of its weights.
    Losses are left as they are, for they keep state and count.

    Args:
        model: The model; its parts are its children.
        device: Where it is.

    Raises:
        ConfigError: Nothing can be compiled here, or the model has no parts.
    """
    require_compiler(device)
    parts = list(_parts(model))
    if not parts:
        raise ConfigError(
            f"train.compile: {type(model).__name__} has no parts that could be compiled; expected "
            "modules such as backbone and head in it; set train.compile=false"
        )
    for part in parts:
        part.compile(dynamic=False)
    log.info("compiling %d parts of the model; the first step takes a while", len(parts))


@contextmanager
def uncompiled(is_compiled: bool) -> Iterator[None]:
    """Call modules as they are, compiled or not, while the context lasts.

    Args:
        is_compiled: Whether any may be compiled; otherwise nothing is done.
    """
    if not is_compiled:
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def require_compiler(device: torch.device) -> None:
    """Compile and run a function of one line.

    Raises:
        ConfigError: It fails, because there is no C++ compiler, say.
    """

    def probe(value: torch.Tensor) -> torch.Tensor:
        return value * 2 + 1

    try:
        torch.compile(probe, dynamic=False)(torch.ones(8, device=device))
    except Exception as error:
        first = next((line for line in str(error).splitlines() if line.strip()), "")
        needs = "a C++ compiler, such as g++" if device.type == "cpu" else "Triton and a C compiler"
        raise ConfigError(
            f"train.compile: torch.compile does not work here on {device.type}: "
            f"{type(error).__name__}: {first}. It needs {needs}; install it, or set "
            "train.compile=false"
        ) from error


def _parts(model: nn.Module) -> Iterator[nn.Module]:
    for child in model.children():
        if isinstance(child, WeightedLosses):
            continue
        if isinstance(child, nn.ModuleList | nn.ModuleDict):
            yield from _parts(child)
        else:
            yield child
