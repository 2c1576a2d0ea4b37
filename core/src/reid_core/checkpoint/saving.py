"""What a checkpoint writes, in the thread that does the writing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from torch import Tensor

from reid_core.checkpoint.artifact import write_weights
from reid_core.checkpoint.atomic import sync_file
from reid_core.checkpoint.folder import CheckpointFolder
from reid_core.errors import CheckpointError


@dataclass(frozen=True)
class Saved:
    """How the writing went.

    Args:
        step: Steps done by the state.
        path: The numbered checkpoint; None where only ``best.pt`` was asked for.
        error: Why it is not on the disk; None where it is.
    """

    step: int
    path: Path | None = None
    error: CheckpointError | None = None


@dataclass(frozen=True)
class Saving:
    """A state to be written, and under which names.

    Args:
        folder: Where checkpoints go.
        weights: Folder of the weights files.
        rows: File with the rows of the steps so far; a checkpoint is not on the disk before them.
        step: Steps done by the state.
        state: The state, which nobody else changes.
        info: Description for the weights files.
        is_regular: Whether it becomes the newest numbered checkpoint and ``last.safetensors``.
        is_best: Whether it becomes ``best.pt`` and ``best.safetensors``.
    """

    folder: CheckpointFolder
    weights: Path
    rows: Path
    step: int
    state: Mapping[str, object]
    info: Mapping[str, object]
    is_regular: bool
    is_best: bool

    def write(self) -> Saved:
        """Write it; a failure is part of what is returned.

        The numbered checkpoint comes last. A resumed run believes what it says of the best weights,
        so these have to be on the disk by then.
        """
        path = None
        try:
            self._sync_rows()
            self._export()
            best = self.folder.save_best(self.state) if self.is_best else None
            if self.is_regular:
                path = self.folder.save(self.state, self.step, same_as=best)
        except CheckpointError as error:
            return Saved(self.step, path, error)
        return Saved(self.step, path)

    def _sync_rows(self) -> None:
        # A power cut would otherwise leave a checkpoint whose rows nobody writes again.
        try:
            sync_file(self.rows)
        except OSError as error:
            raise CheckpointError(f"{self.rows} cannot be written: {error}") from error

    def _export(self) -> None:
        # What is evaluated is what is used elsewhere.
        model = self.state["eval_model"] or self.state["model"]
        tensors = cast("Mapping[str, Tensor]", model)
        names = {"last": self.is_regular, "best": self.is_best}
        for name in (name for name, is_wanted in names.items() if is_wanted):
            write_weights(self.weights / f"{name}.safetensors", tensors, self.info)
