"""What a weights file says about itself: the configuration and the step it comes from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import TypeAdapter

from reid_core.checkpoint.artifact import read_info
from reid_core.checkpoint.folder import load_checkpoint
from reid_core.checkpoint.weights import require_file
from reid_core.config.components import Component
from reid_core.data.cameras import CameraMap
from reid_core.engine.record.run_folder import RunFolder
from reid_core.errors import CheckpointError
from reid_core.evaluation.detail import Threshold


@dataclass(frozen=True)
class WeightsInfo:
    """Where weights come from.

    Args:
        path: The file.
        config: The configuration they were trained with, as plain types; None for a file of another
            toolbox.
        step: Optimizer steps they were trained for.
        epoch: The same in epochs.
        cameras: The cameras they were trained with; None where that is not known.
        num_views: The views they were trained with; None where the data has none.
        threshold: The threshold that was chosen for them; None before that.
    """

    path: Path
    config: dict[str, object] | None = None
    step: int = 0
    epoch: float = 0.0
    cameras: CameraMap | None = None
    num_views: int | None = None
    threshold: Threshold | None = None

    @property
    def label(self) -> str:
        """``best`` or ``last`` for files of a run, ``file`` for any other."""
        if self.config is None:
            return "file"
        return "best" if self.path.stem == "best" else "last"

    @classmethod
    def of(cls, path: Path) -> WeightsInfo:
        """Read it from a file.

        Raises:
            CheckpointError: The file is damaged.
        """
        if path.suffix == ".safetensors":
            return cls._from(path, read_info(path))
        try:
            state = load_checkpoint(path)
        except CheckpointError as error:
            if "no training checkpoint" in str(error):
                return cls(path)
            raise
        epoch = cast("int", state["step"]) / cast("int", state["iters_per_epoch"])
        return cls._from(path, {**state, "epoch": epoch})

    def name_in_training(self, component: Component) -> str | None:
        """Return what a data set was called in training; None where it was not trained on.

        Of two sets of one name the second has another: its cameras are found by that.
        """
        if self.config is None or self.cameras is None:
            return None
        data = cast("dict[str, list[object]]", self.config["data"])
        trained = [Component.model_validate(one) for one in data["train"]]
        names = [name for name, _ in self.cameras.cameras]
        return names[trained.index(component)] if component in trained else None

    @classmethod
    def _from(cls, path: Path, info: Mapping[str, object] | None) -> WeightsInfo:
        if info is None:
            return cls(path)
        config = cast("dict[str, object]", info["config"])
        cameras = cast("list[dict[str, object]] | None", info.get("camera_map"))
        return cls(
            path,
            config,
            cast("int", info["step"]),
            cast("float", info["epoch"]),
            None if cameras is None else CameraMap.from_plain(cameras),
            cast("int | None", info.get("num_views")),
            threshold_from_plain(info.get("threshold")),
        )


def threshold_from_plain(plain: object) -> Threshold | None:
    """Read a threshold that was stored as plain types; None where there is none."""
    return None if plain is None else TypeAdapter(Threshold).validate_python(plain)


def find_weights(path: Path) -> Path:
    """Return the file to evaluate: ``path``, or the best or newest weights of a run folder.

    Raises:
        CheckpointError: There is no such file, or the folder holds none.
    """
    path = path.expanduser()
    if not path.is_dir():
        return require_file(path, what="checkpoint")
    folder = path / "weights"
    candidates = [
        folder / "best.safetensors",
        folder / "last.safetensors",
        *RunFolder(path).checkpoints.paths(),
    ]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    what = "the run in" if RunFolder(path).holds_a_run() else "folder"
    raise CheckpointError(
        f"{what} {path} holds no weights (looked for best.safetensors and last.safetensors in "
        f"{folder}, and for checkpoints)"
    )
