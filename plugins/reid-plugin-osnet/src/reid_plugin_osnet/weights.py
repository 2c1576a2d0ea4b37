"""Released OSNet weights into the networks of this package."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from torch import nn

from reid_core.checkpoint.weights import LoadReport, load_into, read_backbone_state

_log = logging.getLogger(__name__)


def load_released(model: nn.Module, path: str, *, ignore: Sequence[str]) -> LoadReport:
    """Load a weights file strictly, and log the share of the parameters it filled.

    Args:
        model: An OSNet.
        path: Local file in any layout that reid-core reads (``.pth``, ``.pth.tar``, ``.pt``,
            ``.safetensors``), or the weights of a run with such a backbone; ``~`` is expanded.
        ignore: Patterns of keys that the file may hold and the model does not use.

    Returns:
        What was loaded and what was left out.

    Raises:
        CheckpointError: No such file, unreadable, or any other key does not match.
    """
    state = read_backbone_state(Path(path))
    report = load_into(model, state, source=path, ignore=ignore)
    _log.info("%s", report.summary())
    return report
