"""The three stages of each variant, under the names that released weights give them."""

from __future__ import annotations

from typing import Literal

from torch import nn

from reid_plugin_osnet.blocks import AINBlock, OSBlock
from reid_plugin_osnet.layers import ConvNorm

Variant = Literal["plain", "ibn", "ain"]

#: Which of a stage's two blocks normalise by image. OSNet-AIN's were found by a search.
_INSTANCE_NORM = {
    "plain": ((False, False), (False, False), (False, False)),
    "ibn": ((True, True), (False, False), (False, False)),
    "ain": ((True, True), (False, True), (True, False)),
}


def build_stages(variant: Variant, channels: tuple[int, int, int, int]) -> dict[str, nn.Sequential]:
    """Build what lies between the stem and the last convolution.

    The first and the second stage are followed by a transition that halves the resolution: a
    pointwise convolution and average pooling. OSNet-AIN names it ``pool2`` and ``pool3``; the
    others keep it inside the stage.

    Args:
        variant: The network.
        channels: Of the stem and of the three stages.

    Returns:
        Modules by name, in the order they are called.
    """
    block = AINBlock if variant == "ain" else OSBlock
    stages: dict[str, nn.Sequential] = {}
    for index, norms in enumerate(_INSTANCE_NORM[variant]):
        before, after = channels[index : index + 2]
        stage = nn.Sequential(
            block(before, after, instance_norm=norms[0]),
            block(after, after, instance_norm=norms[1]),
        )
        stages[f"conv{index + 2}"] = stage
        if index == 2:
            break
        transition = nn.Sequential(ConvNorm(after, after), nn.AvgPool2d(2, stride=2))
        if variant == "ain":
            stages[f"pool{index + 2}"] = transition
        else:
            stage.append(transition)
    return stages
