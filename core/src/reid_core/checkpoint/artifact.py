"""Weights for use outside of training: one safetensors file that says what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

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
        raise CheckpointError(f"weights {path} cannot be written: {error}") from error


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
