"""Reference numbers shared by the tests of this folder."""

from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from reid_core.contracts import Batch

GOLDEN = Path("shared/golden/losses_heads.npz")


@pytest.fixture(scope="session")
def golden() -> Mapping[str, Tensor]:
    """Values that FastReID (commit c9bc3ce) computes on random inputs, by name."""
    path = next((up / GOLDEN for up in Path(__file__).parents if (up / GOLDEN).is_file()), None)
    if path is None:
        pytest.skip(f"{GOLDEN} is in no folder above this one")
    with np.load(path) as file:
        return {key: torch.from_numpy(file[key]) for key in file.files}


@pytest.fixture(scope="session")
def make_batch() -> Callable[[Tensor], Batch]:
    """Return a function from labels (B,) to a batch that holds them; losses read nothing else."""

    def make(pids: Tensor) -> Batch:
        rows = len(pids)
        return Batch(
            images=torch.zeros(rows, 3, 1, 1),
            pids=pids,
            camids=torch.zeros(rows, dtype=torch.int64),
            index=torch.arange(rows),
        )

    return make
