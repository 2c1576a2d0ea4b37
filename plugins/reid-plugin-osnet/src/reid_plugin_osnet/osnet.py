"""OSNet at four widths, with the layout and the key names of the released weights."""

from __future__ import annotations

from reid_plugin_osnet.build import build
from reid_plugin_osnet.network import Embedding, OSNet


def osnet_x1_0(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet at full width.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 512-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.

    Source: Zhou et al., "Omni-Scale Feature Learning for Person Re-Identification", ICCV 2019.
    """
    return build("plain", 1.0, embedding, weights)


def osnet_x0_75(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet with three quarters of the channels; see :func:`osnet_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 384-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("plain", 0.75, embedding, weights)


def osnet_x0_5(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet with half of the channels; see :func:`osnet_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 256-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("plain", 0.5, embedding, weights)


def osnet_x0_25(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet with a quarter of the channels, 0.2 M parameters; see :func:`osnet_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 128-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("plain", 0.25, embedding, weights)
