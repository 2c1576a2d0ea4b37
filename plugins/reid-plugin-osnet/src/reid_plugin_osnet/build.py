"""A network by variant and width, with released weights where a file is named."""

from __future__ import annotations

from reid_plugin_osnet.network import Embedding, OSNet
from reid_plugin_osnet.stages import Variant
from reid_plugin_osnet.weights import load_released


def build(variant: Variant, width: float, embedding: Embedding, weights: str | None) -> OSNet:
    """Build a backbone.

    Args:
        variant: Plain, or one of those with instance normalisation.
        width: Multiplier of the channels.
        embedding: The published embedding, or the map before it.
        weights: Local weights file; None starts from random values.

    Returns:
        The backbone, in training mode.

    Raises:
        CheckpointError: The weights file is missing, unreadable or of another network.
    """
    model = OSNet(width=width, embedding=embedding, variant=variant)
    if weights is not None:
        unused = ("classifier.*",) if embedding == "fc" else ("classifier.*", "fc.*")
        load_released(model, weights, ignore=unused)
    return model
