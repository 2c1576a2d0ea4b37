"""The weights that a new run begins with: those of another run, or of a file."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from torch import Tensor, nn

from reid_core.checkpoint.artifact import read_info
from reid_core.checkpoint.folder import require_sound, saved_entry
from reid_core.checkpoint.weights import load_into, read_state_dict
from reid_core.data.labels import identities_digest
from reid_core.engine.record.weights_info import WeightsInfo, find_weights
from reid_core.errors import CheckpointError
from reid_core.models.build import TRAINING_ONLY_KEYS

if TYPE_CHECKING:
    from reid_core.engine.default_trainer import DefaultTrainer

log = logging.getLogger("reid_core")

#: How many keys a line of the log shows.
_SHOWN_KEYS = 4


@runtime_checkable
class FitsWeights(Protocol):
    """A part of a model whose weights may come in another shape, as position tables do."""

    def fit_weights(self, state: Mapping[str, Tensor], *, source: str) -> dict[str, Tensor]:
        """Bring weights into this part's own shape.

        Args:
            state: Tensors by the part's own keys, as the file has them.
            source: The file, for messages.

        Returns:
            The same keys; what cannot be brought into shape is as it was.

        Raises:
            CheckpointError: It was trained with something that this part has otherwise.
        """
        ...


@dataclass(frozen=True)
class InitialWeights:
    """What a run began with.

    Args:
        path: The file.
        sha256: Of its content.
        loaded_share: Loaded elements over those of the model that were to be loaded, 0..1.
        kept: Keys that only training needs and that were loaded, the classifier say.
        dropped: Such keys of the file that were not.
    """

    path: Path
    sha256: str
    loaded_share: float
    kept: tuple[str, ...]
    dropped: tuple[str, ...]


def init_from(trainer: DefaultTrainer, source: str) -> InitialWeights:
    """Load the evaluated weights of a run, a checkpoint or a weights file into a new model.

    What only training needs, the classifier say, is loaded where the file was trained on the same
    identities, and dropped by name otherwise. Everything else has to fit.

    Args:
        trainer: Its model is loaded into; optimizer and step count are left as they are.
        source: The path of a run folder or file.

    Returns:
        What was loaded.

    Raises:
        CheckpointError: There is no such file, it is damaged, or it does not fit.
    """
    path, state = read_initial_weights(source)
    model, name = trainer.model, str(path)
    state = _fitted(model, state, source=name)
    _require_some(model, state, source=name)
    _warn_of_other_cameras(trainer, path)
    own = model.state_dict()
    training = {key: value for key, value in state.items() if _is_training_only(key)}
    is_same = _is_same_identities(trainer, path)
    fitting = {k for k, v in training.items() if k in own and v.shape == own[k].shape}
    # Where the file does not tell, classes of another number are surely others.
    if is_same is False or (is_same is None and any(k in own for k in training.keys() - fitting)):
        fitting = set()
    kept = tuple(key for key in training if key in fitting)
    dropped = tuple(key for key in training if key not in fitting)
    report = load_into(
        model,
        {key: value for key, value in state.items() if key not in dropped},
        source=name,
        allow_missing=tuple(key for key in own if _is_training_only(key)),
    )
    log.info("begins with %s", report.summary())
    _tell(kept, dropped, is_same)
    return InitialWeights(path, _sha256(path), report.loaded_share, kept, dropped)


def read_initial_weights(source: str) -> tuple[Path, dict[str, Tensor]]:
    """Read what ``train.init_from`` names.

    Args:
        source: The path of a run folder or file.

    Returns:
        The file, and its tensors by key.

    Raises:
        CheckpointError: There is no such file, or it is damaged.
    """
    path = find_weights(Path(source))
    if saved_entry(path, "format") is not None:
        require_sound(path)
    return path, read_state_dict(path)


def _fitted(model: nn.Module, state: dict[str, Tensor], *, source: str) -> dict[str, Tensor]:
    """Let the parts of the model bring their weights into shape."""
    for prefix, module in model.named_modules():
        if not isinstance(module, FitsWeights):
            continue
        start = f"{prefix}." if prefix else ""
        part = {k.removeprefix(start): v for k, v in state.items() if k.startswith(start)}
        fitted = module.fit_weights(part, source=source)
        state = {**state, **{f"{start}{key}": value for key, value in fitted.items()}}
    return state


def _require_some(model: nn.Module, state: Mapping[str, Tensor], *, source: str) -> None:
    own = model.state_dict()
    if any(key in own for key in state):
        return
    raise CheckpointError(
        f"{source} has no key of the model (0 % of the parameters): it has "
        f"{_some(tuple(state))}, the model {_some(tuple(own))}. train.init_from wants the weights "
        "of a whole model; those of a backbone alone are loaded by --set "
        f"model.backbone.weights={source}"
    )


def _is_training_only(key: str) -> bool:
    return any(fnmatchcase(key, pattern) for pattern in TRAINING_ONLY_KEYS)


def _is_same_identities(trainer: DefaultTrainer, path: Path) -> bool | None:
    """Say whether a file was trained on the same identities; None where it does not tell."""
    if path.suffix == ".safetensors":
        digest = (read_info(path) or {}).get("identities")
    else:
        saved = saved_entry(path, "label_map")
        digest = None if saved is None else identities_digest(saved)
    return None if digest is None else digest == identities_digest(trainer.label_map.to_plain())


def _warn_of_other_cameras(trainer: DefaultTrainer, path: Path) -> None:
    if not trainer.model.conditions:
        return
    cameras = WeightsInfo.of(path).cameras
    if cameras is not None and cameras.to_plain() != trainer.camera_map.to_plain():
        log.warning(
            "%s was trained with other cameras, and the model is conditioned on them: what it "
            "knows of its cameras is where the new ones begin",
            path,
        )


def _tell(kept: tuple[str, ...], dropped: tuple[str, ...], is_same: bool | None) -> None:
    if dropped:
        why = "it does not fit this model" if is_same else "the identities are others"
        log.info("dropped, as %s: %s; what is in its place starts anew", why, _some(dropped))
    if kept:
        why = "the identities are the same" if is_same else "the shapes fit, and no more is known"
        log.info("kept, as %s: %s", why, _some(kept))


def _some(keys: tuple[str, ...]) -> str:
    shown = ", ".join(keys[:_SHOWN_KEYS])
    left = len(keys) - _SHOWN_KEYS
    return f"{shown} and {left} more" if left > 0 else shown or "nothing"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
