"""Weights from a file into a module, with a report of what was loaded and what was not.

Released weights come in many layouts. This module reads the common ones, loads strictly, and
makes every key that was skipped either expected (asked for by pattern) or an error.
"""

from __future__ import annotations

import difflib
import fnmatch
import pickle
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor, nn

from reid_core.distributed.shares import share_like
from reid_core.errors import CheckpointError

#: Keys under which toolboxes keep the state dict inside a checkpoint.
_CONTAINERS = ("eval_model", "model", "state_dict", "model_state_dict", "model_state")
#: Prefixes that wrappers (DataParallel, compile, Lightning) put before every key.
_PREFIXES = ("module.", "_orig_mod.", "model.")
#: Counters that carry no weights; older files lack them.
_COUNTERS = ("*num_batches_tracked",)
#: What the files of ``torch.save`` begin with: archives, and pickles of its first versions.
_STARTS = (b"PK", b"\x80")
#: How torch names the object that it refuses to load.
_OBJECT = re.compile(r"GLOBAL ([\w.]+)")
#: How many keys an error message shows of each kind.
_SHOWN_KEYS = 6


@dataclass(frozen=True)
class LoadReport:
    """What loading a state dict did.

    Args:
        source: Where the weights came from.
        loaded_share: Loaded elements over the elements the module has, 0..1; keys that were
            allowed to be missing and are do not count.
        loaded: Number of tensors loaded.
        missing: Keys of the module that the file lacks.
        unexpected: Keys of the file that the module lacks.
        mismatched: Keys present in both with different shapes, with both shapes.
        ignored: Keys of the file left out because a pattern asked for it.
    """

    source: str
    loaded_share: float
    loaded: int
    missing: tuple[str, ...]
    unexpected: tuple[str, ...]
    mismatched: tuple[str, ...]
    ignored: tuple[str, ...]

    def summary(self) -> str:
        """Return one line: the share loaded, and how many keys were left out and why."""
        text = f"{self.source}: loaded {self.loaded_share:.1%} of the parameters"
        text += f" ({self.loaded} tensors)"
        parts = [
            f"{len(keys)} {kind} ({_some(keys, 3)})"
            for kind, keys in (
                ("not used", self.ignored),
                ("missing", self.missing),
                ("unexpected", self.unexpected),
                ("of another shape", self.mismatched),
            )
            if keys
        ]
        return f"{text}; {'; '.join(parts)}" if parts else text


def require_file(path: Path, *, what: str) -> Path:
    """Return ``path`` if it is a file.

    Args:
        path: The path as the user gave it.
        what: What it should be, for the message, such as ``"weights file"``.

    Raises:
        CheckpointError: It is no file; the message shows the nearest name in its folder.
    """
    path = path.expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise CheckpointError(f"{what} {path} is a folder; name the file in it")
    folder = path.absolute().parent
    if not folder.is_dir():
        raise CheckpointError(f"{what} {path} not found: there is no folder {folder}")
    near = difflib.get_close_matches(path.name, [p.name for p in folder.iterdir()], n=1, cutoff=0.5)
    hint = f"; did you mean {folder / near[0]}?" if near else f"; {folder} holds no such name"
    raise CheckpointError(f"{what} {path} not found{hint}")


def load_pickle_safely(path: Path, *, what: str) -> object:
    """Load a ``torch.save`` file without executing code from it.

    Raises:
        CheckpointError: The file is empty, cut short, no torch file, or holds other objects than
            tensors and plain containers.
    """
    if path.stat().st_size == 0:
        raise CheckpointError(f"{what} {path} is empty (0 bytes); it was cut while it was written")
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        with path.open("rb") as file:
            start = file.read(20)
        if not start.startswith(_STARTS):
            raise CheckpointError(
                f"{what} {path} is damaged, or no file that torch wrote (it begins with {start!r})"
            ) from error
        # torch's own text advises to load the file unsafely.
        found = _OBJECT.search(str(error))
        raise CheckpointError(
            f"{what} {path} cannot be loaded safely: it holds "
            f"{f'the object {found.group(1)}' if found else 'something'} that is neither a tensor "
            "nor a plain container; save its state dict alone, e.g. as .safetensors"
        ) from error
    except Exception as error:  # bytes that are no pickle can raise anything
        raise CheckpointError(
            f"{what} {path} is damaged, or no file that torch wrote ({type(error).__name__} on "
            "reading it)"
        ) from error


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Read the weights of a file, whatever common layout they are in.

    A state dict is taken as it is or from under ``model``, ``state_dict`` and the like; a prefix
    that a wrapper put before every key (``module.``, ``_orig_mod.``, ``model.``) is removed.

    Args:
        path: ``.safetensors``, or a ``torch.save`` file of tensors (``.pth``, ``.pt``, ``.tar``).

    Returns:
        Tensors by key, on the CPU.

    Raises:
        CheckpointError: No such file, damaged, or no state dict in it.
    """
    path = require_file(Path(path), what="weights file")
    if path.suffix == ".safetensors":
        try:
            return _strip_prefixes(load_file(path))
        except (SafetensorError, OSError) as error:
            raise CheckpointError(f"weights file {path} is damaged: {error}") from error
    content = load_pickle_safely(path, what="weights file")
    state = _find_state(content)
    if state is None:
        kind = f"keys {_some(list(content), 6)}" if isinstance(content, Mapping) else type(content)
        raise CheckpointError(f"weights file {path} holds no state dict; found {kind}")
    return _strip_prefixes(state)


def read_backbone_state(path: Path) -> dict[str, Tensor]:
    """Read weights for a backbone: its own, or the backbone's part of a whole trained model.

    Args:
        path: As for :func:`read_state_dict`; also the weights or a checkpoint of a run.

    Returns:
        Tensors by the backbone's own keys, on the CPU.

    Raises:
        CheckpointError: No such file, damaged, or no state dict in it.
    """
    state = read_state_dict(path)
    part = {k.removeprefix("backbone."): v for k, v in state.items() if k.startswith("backbone.")}
    # "head." tells a model of ours from a network that calls a part of itself "backbone".
    if part and any(key.startswith("head.") for key in state):
        return _strip_prefixes(part)
    return state


def load_into(
    module: nn.Module,
    state: Mapping[str, Tensor],
    *,
    source: str,
    ignore: Sequence[str] = (),
    allow_missing: Sequence[str] = (),
) -> LoadReport:
    """Load ``state`` into ``module`` strictly, but for the keys that were named.

    Args:
        module: Receives the values; dtypes and devices stay its own.
        state: Tensors by key.
        source: Where they came from, for messages.
        ignore: Patterns (``fnmatch``) of keys that are not loaded even if present.
        allow_missing: Patterns of the module's keys that may keep their values.

    Returns:
        What was loaded and what was not.

    Raises:
        CheckpointError: Another key is missing, unexpected or of another shape, or nothing fits.
            Nothing was loaded then.
    """
    own = module.state_dict()
    ignored = tuple(key for key in state if _matches(key, ignore))
    usable = {key: value for key, value in state.items() if not _matches(key, ignore)}
    fitting = {k: v for k, v in usable.items() if k in own and v.shape == own[k].shape}
    excused = tuple(
        k for k in own if k not in usable and _matches(k, (*ignore, *allow_missing, *_COUNTERS))
    )
    expected = sum(v.numel() for k, v in own.items() if k not in excused)
    report = LoadReport(
        source=source,
        loaded_share=sum(v.numel() for v in fitting.values()) / max(expected, 1),
        loaded=len(fitting),
        missing=tuple(k for k in own if k not in usable and k not in excused),
        unexpected=tuple(k for k in usable if k not in own),
        mismatched=tuple(
            f"{k} {tuple(v.shape)} against {tuple(own[k].shape)}"
            for k, v in usable.items()
            if k in own and v.shape != own[k].shape
        ),
        ignored=ignored,
    )
    if report.missing or report.unexpected or report.mismatched or not fitting:
        raise CheckpointError(_refusal(report))
    shares = {key: share_like(value, own[key]) for key, value in fitting.items()}
    module.load_state_dict(shares, strict=False)
    return report


def _refusal(report: LoadReport) -> str:
    lines = [
        f"{report.source} does not fit the model: {report.loaded_share:.1%} of the parameters "
        "match by name and shape, nothing was loaded"
    ]
    for kind, keys in (
        ("missing in the file", report.missing),
        ("unexpected in the file", report.unexpected),
        ("of another shape (file against model)", report.mismatched),
    ):
        if keys:
            lines.append(f"  {len(keys)} {kind}: {_some(keys, _SHOWN_KEYS)}")
    lines.append("  choose the architecture the weights were made for, or rename the keys")
    return "\n".join(lines)


def _matches(key: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch.fnmatchcase(key, pattern) for pattern in patterns)


def _some(keys: Sequence[object], limit: int) -> str:
    shown = ", ".join(str(key) for key in keys[:limit])
    return f"{shown}, …" if len(keys) > limit else shown


def _find_state(content: object) -> dict[str, Tensor] | None:
    if not isinstance(content, Mapping):
        return None
    for container in _CONTAINERS:
        inner = content.get(container)
        if isinstance(inner, Mapping):
            return _find_state(inner)
    tensors = {str(k): v for k, v in content.items() if isinstance(v, Tensor)}
    return tensors if tensors else None


def _strip_prefixes(state: dict[str, Tensor]) -> dict[str, Tensor]:
    stripped = True
    while stripped:
        stripped = False
        for prefix in _PREFIXES:
            if state and all(key.startswith(prefix) for key in state):
                state = {key[len(prefix) :]: value for key, value in state.items()}
                stripped = True
    return state
