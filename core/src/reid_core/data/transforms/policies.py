"""The learned policies of AutoAugment: pairs of operations with probability and level.

Source: Cubuk et al., AutoAugment: Learning Augmentation Strategies from Data, CVPR 2019, appendix.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple, cast

from reid_core.data.transforms.policy_ops import ImageOp

PolicyName = Literal["imagenet", "cifar10", "svhn"]


class Step(NamedTuple):
    """One operation of a pair.

    Args:
        op: The operation.
        probability: That it is applied.
        level: 0..9; of no meaning for operations without a magnitude.
    """

    op: ImageOp
    probability: float
    level: int


#: A pair a line; each operation is followed by its probability in tenths and its level.
_TABLES: Mapping[PolicyName, str] = {
    "imagenet": """
        posterize 4 8      rotate 6 9
        solarize 6 5       auto_contrast 6 0
        equalize 8 0       equalize 6 0
        posterize 6 7      posterize 6 6
        equalize 4 0       solarize 2 4
        equalize 4 0       rotate 8 8
        solarize 6 3       equalize 6 0
        posterize 8 5      equalize 10 0
        rotate 2 3         solarize 6 8
        equalize 6 0       posterize 4 6
        rotate 8 8         color 4 0
        rotate 4 9         equalize 6 0
        equalize 0 0       equalize 8 0
        invert 6 0         equalize 10 0
        color 6 4          contrast 10 8
        rotate 8 8         color 10 2
        color 8 8          solarize 8 7
        sharpness 4 7      invert 6 0
        shear_x 6 5        equalize 10 0
        color 4 0          equalize 6 0
        equalize 4 0       solarize 2 4
        solarize 6 5       auto_contrast 6 0
        invert 6 0         equalize 10 0
        color 6 4          contrast 10 8
        equalize 8 0       equalize 6 0
    """,
    "cifar10": """
        invert 1 0         contrast 2 6
        rotate 7 2         translate_x 3 9
        sharpness 8 1      sharpness 9 3
        shear_y 5 8        translate_y 7 9
        auto_contrast 5 0  equalize 9 0
        shear_y 2 7        posterize 3 7
        color 4 3          brightness 6 7
        sharpness 3 9      brightness 7 9
        equalize 6 0       equalize 5 0
        contrast 6 7       sharpness 6 5
        color 7 7          translate_x 5 8
        equalize 3 0       auto_contrast 4 0
        translate_y 4 3    sharpness 2 6
        brightness 9 6     color 2 8
        solarize 5 2       invert 0 0
        equalize 2 0       auto_contrast 6 0
        equalize 2 0       equalize 6 0
        color 9 9          equalize 6 0
        auto_contrast 8 0  solarize 2 8
        brightness 1 3     color 7 0
        solarize 4 5       auto_contrast 9 0
        translate_y 9 9    translate_y 7 9
        auto_contrast 9 0  solarize 8 3
        equalize 8 0       invert 1 0
        translate_y 7 9    auto_contrast 9 0
    """,
    "svhn": """
        shear_x 9 4        invert 2 0
        shear_y 9 8        invert 7 0
        equalize 6 0       solarize 6 6
        invert 9 0         equalize 6 0
        equalize 6 0       rotate 9 3
        shear_x 9 4        auto_contrast 8 0
        shear_y 9 8        invert 4 0
        shear_y 9 5        solarize 2 6
        invert 9 0         auto_contrast 8 0
        equalize 6 0       rotate 9 3
        shear_x 9 4        solarize 3 3
        shear_y 8 8        invert 7 0
        equalize 9 0       translate_y 6 6
        invert 9 0         equalize 6 0
        contrast 3 3       rotate 8 4
        invert 8 0         translate_y 0 2
        shear_y 7 6        solarize 4 8
        invert 6 0         rotate 8 4
        shear_y 3 7        translate_x 9 3
        shear_x 1 6        invert 6 0
        solarize 7 2       translate_y 6 7
        shear_y 8 4        invert 8 0
        shear_x 7 9        translate_y 8 3
        shear_y 8 5        auto_contrast 7 0
        shear_x 7 2        invert 1 0
    """,
}


def policy_of(name: PolicyName) -> list[tuple[Step, Step]]:
    """Return the pairs of a policy, one of which is drawn for each image."""
    lines = [line.split() for line in _TABLES[name].strip().splitlines()]
    return [(_step(line[:3]), _step(line[3:])) for line in lines]


def _step(words: list[str]) -> Step:
    op, tenths, level = words
    return Step(cast(ImageOp, op), int(tenths) / 10, int(level))
