"""The random states of a process, as plain types that load without executing code."""

from __future__ import annotations

import random
from typing import cast

import numpy as np
import torch
from torch import Tensor


def random_state() -> dict[str, object]:
    """Return the states of Python's, NumPy's and torch's global generators."""
    # numpy's own tuple is refused by weights_only loading; its parts as plain numbers are not.
    name, keys, position, has_gauss, cached = cast(
        "tuple[str, np.ndarray, int, int, float]", np.random.get_state(legacy=True)
    )
    state: dict[str, object] = {
        "python": random.getstate(),
        "numpy": [name, keys.tolist(), int(position), int(has_gauss), float(cached)],
        "torch": torch.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["cuda"] = torch.cuda.get_rng_state_all()
    return state


def set_random_state(state: dict[str, object]) -> None:
    """Set all generators to what :func:`random_state` returned."""
    version, internal, gauss = cast("tuple[int, tuple[int, ...], float | None]", state["python"])
    random.setstate((version, tuple(internal), gauss))
    name, keys, position, has_gauss, cached = cast(
        "tuple[str, list[int], int, int, float]", state["numpy"]
    )
    np.random.set_state((name, np.array(keys, dtype=np.uint32), position, has_gauss, cached))
    torch.set_rng_state(cast("Tensor", state["torch"]))
    if "cuda" in state and torch.cuda.is_available():
        saved = cast("list[Tensor]", state["cuda"])
        torch.cuda.set_rng_state_all(saved[: torch.cuda.device_count()])


def seed_everything(seed: int) -> None:
    """Seed Python's, NumPy's and torch's global generators."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
