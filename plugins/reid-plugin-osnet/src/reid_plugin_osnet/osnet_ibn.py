"""OSNet-IBN at four widths: instance normalisation in the stem and the first stage."""

from __future__ import annotations

from reid_plugin_osnet.build import build
from reid_plugin_osnet.network import Embedding, OSNet


def osnet_ibn_x1_0(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-IBN at full width: instance normalisation in the stem and the first stage.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 512-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.

    Source: torchreid's ``osnet_ibn_x1_0``; Pan et al., "Two at Once", ECCV 2018, variant b.
    """
    return build("ibn", 1.0, embedding, weights)


def osnet_ibn_x0_75(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-IBN with three quarters of the channels; see :func:`osnet_ibn_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 384-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("ibn", 0.75, embedding, weights)


def osnet_ibn_x0_5(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-IBN with half of the channels; see :func:`osnet_ibn_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 256-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("ibn", 0.5, embedding, weights)


def osnet_ibn_x0_25(*, embedding: Embedding = "fc", weights: str | None = None) -> OSNet:
    """OSNet-IBN with a quarter of the channels; see :func:`osnet_ibn_x1_0`.

    Args:
        embedding: ``"fc"`` for the published 512-d embedding, ``"map"`` for the 128-channel map.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    return build("ibn", 0.25, embedding, weights)
