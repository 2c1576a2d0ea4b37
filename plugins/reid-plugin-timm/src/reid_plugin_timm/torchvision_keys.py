"""Key names of torchvision models whose timm twin is laid out differently.

torchvision's ResNets need nothing of this: timm uses the same names.
"""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

#: Blocks a stage of MobileNetV2, in order (Sandler et al., CVPR 2018, table 2).
_STAGES = (1, 2, 3, 4, 3, 3, 1)
#: Parts of a block, torchvision's name to timm's; the first block has no expansion.
_FIRST_BLOCK = {"0.0": "conv_dw", "0.1": "bn1", "1": "conv_pw", "2": "bn2"}
_BLOCK = {
    "0.0": "conv_pw",
    "0.1": "bn1",
    "1.0": "conv_dw",
    "1.1": "bn2",
    "2": "conv_pwl",
    "3": "bn3",
}


def is_torchvision_mobilenet_v2(state: Mapping[str, Tensor]) -> bool:
    """Tell whether ``state`` has the keys of torchvision's ``mobilenet_v2``."""
    return {"features.0.0.weight", "features.18.0.weight", "features.1.conv.0.0.weight"} <= set(
        state
    )


def rename_mobilenet_v2(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return ``state`` under the names of timm's ``mobilenetv2_100``.

    Args:
        state: A state dict of torchvision's ``mobilenet_v2``, with or without classifier.
    """
    prefixes = _mobilenet_v2_prefixes()
    renamed = {}
    for key, value in state.items():
        prefix, _, last = key.rpartition(".")
        renamed[f"{prefixes.get(prefix, prefix)}.{last}"] = value
    return renamed


def _mobilenet_v2_prefixes() -> dict[str, str]:
    prefixes = {
        "features.0.0": "conv_stem",
        "features.0.1": "bn1",
        "features.18.0": "conv_head",
        "features.18.1": "bn2",
        "classifier.1": "classifier",
    }
    position = 1
    for stage, num_blocks in enumerate(_STAGES):
        for block in range(num_blocks):
            parts = _FIRST_BLOCK if position == 1 else _BLOCK
            for theirs, ours in parts.items():
                prefixes[f"features.{position}.conv.{theirs}"] = f"blocks.{stage}.{block}.{ours}"
            position += 1
    return prefixes
