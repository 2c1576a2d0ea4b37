"""Weights for use outside of training: one safetensors file that says what it is."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from reid_core.checkpoint.atomic import write_atomically
from reid_core.errors import CheckpointError

_METADATA_KEY = "reid_core"


def write_weights(path: Path, state: Mapping[str, Tensor], info: Mapping[str, object]) -> None:
    """Write weights with a description.

    Args:
        path: A ``.safetensors`` file; replaced atomically.
        state: Tensors by key; two keys may share memory.
        info: Plain types: the resolved config, the step, the metrics.

    Raises:
        CheckpointError: It cannot be written.
    """
    tensors = {key: value.detach().cpu().contiguous().clone() for key, value in state.items()}
    content = save(tensors, metadata={_METADATA_KEY: json.dumps(info)})
    try:
        write_atomically(path, lambda file: file.write(content))
    except OSError as error:
        raise CheckpointError(
            f"weights {path} cannot be written: {error.strerror or error}"
        ) from error


def read_info(path: Path) -> dict[str, object] | None:
    """Return the description in a weights file, or None if it has none of ours.

    Raises:
        CheckpointError: The file is damaged.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"weights file {path} is damaged: {error}") from error
    text = metadata.get(_METADATA_KEY)
    return json.loads(text) if text else None


def update_info(path: Path, changes: Mapping[str, object]) -> None:
    """Change the description in a weights file; every byte of the tensors stays as it is.

    Args:
        path: A ``.safetensors`` file with a description of ours; replaced atomically.
        changes: Entries of the description to set, plain types.

    Raises:
        CheckpointError: The file is damaged, has no description of ours, or cannot be written.
    """
    info = read_info(path)
    if info is None:
        raise CheckpointError(
            f"weights file {path} was not written by a run, so nothing can be noted in it; "
            "expected the .safetensors file of a run"
        )
    try:
        with path.open("rb") as file:
            header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
            header["__metadata__"][_METADATA_KEY] = json.dumps({**info, **changes})
            text = json.dumps(header).encode()
            # Spaces keep the tensors aligned to 8 bytes, as the format wants it.
            text += b" " * (-len(text) % 8)
            write_atomically(path, lambda target: _copy(file, target, text))
    except OSError as error:
        raise CheckpointError(
            f"weights {path} cannot be written: {error.strerror or error}"
        ) from error


def _copy(source: IO[bytes], target: IO[bytes], header: bytes) -> None:
    target.write(len(header).to_bytes(8, "little"))
    target.write(header)
    shutil.copyfileobj(source, target)
