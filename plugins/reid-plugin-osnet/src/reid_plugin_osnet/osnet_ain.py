"""OSNet-AIN at four widths: instance normalisation where a search put it."""

from __future__ import annotations

from reid_plugin_osnet.build import build
from reid_plugin_osnet.network import Embedding, OSNet


def osnet_ain_x1_0(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-AIN at full width: instance normalisation where a search put it.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 512-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.

    Source: Zhou et al., "Learning Generalisable Omni-Scale Representations for Person
        Re-Identification", TPAMI 2021; torchreid's ``osnet_ain_x1_0``.
    """
    return build("ain", 1.0, embedding, weights)


def osnet_ain_x0_75(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-AIN with three quarters of the channels; see :func:`osnet_ain_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 384-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("ain", 0.75, embedding, weights)


def osnet_ain_x0_5(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-AIN with half of the channels; see :func:`osnet_ain_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 256-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("ain", 0.5, embedding, weights)


def osnet_ain_x0_25(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-AIN with a quarter of the channels; see :func:`osnet_ain_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 128-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("ain", 0.25, embedding, weights)
