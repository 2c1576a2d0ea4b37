"""Paste a part of another image, as if something stood in front."""

from __future__ import annotations

import numpy as np
from torch import Tensor
from torchvision.transforms.v2 import functional as image_ops

from reid_core.data.colour import IMAGENET_MEAN, IMAGENET_STD
from reid_core.data.transforms.base import BatchTransform
from reid_core.data.transforms.checks import require_probability, require_range
from reid_core.data.transforms.rectangle import Rectangle, RectangleDraw, place
from reid_core.errors import ConfigError

#: A patch is turned by at most this many degrees, a whole number.
_LARGEST_TURN = 10


class RandomPatch(BatchTransform):
    """Paste a random rectangle of another image of the batch somewhere, with a probability.

    Patches are cut before any is pasted. Each keeps its size; it may be mirrored, and turned by a
    whole number of degrees from −10 to 10, with black corners. A batch of one image stays as it
    is.

    The original keeps the patches of up to 50,000 earlier images of a worker, and needs 100 of
    them before it pastes. What it pastes depends on how images are spread over workers, and on
    what was seen before a run was interrupted. Patches of the same batch need no memory and depend
    on the batch alone.

    Args:
        probability: Probability that a patch is pasted on an image, 0..1.
        area: Smallest and largest share of the image's area, between 0 and 1.
        aspect: Smallest and largest height-to-width ratio; uniform between them.
        flip_probability: Probability that a patch is mirrored left to right, 0..1.
        turn_probability: Probability that a patch is turned, 0..1.
        image_mean: Mean of the channels as shares of white, with which images were normalised.
        image_std: Their standard deviations.

    Raises:
        ConfigError: A value is outside its range.

    Source: Zhou et al., Omni-Scale Feature Learning, ICCV 2019; the numbers are Torchreid's, and
        FastReID's.
    """

    def __init__(
        self,
        *,
        probability: float = 0.5,
        area: tuple[float, float] = (0.01, 0.5),
        aspect: tuple[float, float] = (0.1, 10.0),
        flip_probability: float = 0.5,
        turn_probability: float = 0.5,
        image_mean: tuple[float, float, float] = IMAGENET_MEAN,
        image_std: tuple[float, float, float] = IMAGENET_STD,
    ) -> None:
        name = "random_patch"
        self.probability = require_probability(probability, name)
        self.area = require_range(area, name, "area", high=1)
        if area[1] == 1:
            raise ConfigError(
                "transform random_patch: area reaches 1, the whole image; expected less than 1"
            )
        self.aspect = require_range(aspect, name, "aspect")
        self.flip_probability = require_probability(flip_probability, name)
        self.turn_probability = require_probability(turn_probability, name)
        self._draw = RectangleDraw(area, aspect)
        self._black = [-mean / std for mean, std in zip(image_mean, image_std, strict=True)]

    def __call__(self, images: Tensor, rng: np.random.Generator) -> Tensor:
        """Return (B, 3, H, W), the same tensor with patches pasted."""
        count, _, height, width = images.shape
        if count < 2:
            return images
        patches: list[tuple[int, Rectangle, Tensor]] = []
        for row in np.flatnonzero(rng.random(count) < self.probability).tolist():
            # Any of the others: as many places ahead, around the end.
            source = (row + int(rng.integers(1, count))) % count
            box = self._draw.draw(height, width, rng)
            if box:
                patch = images[source, :, box.rows, box.columns].clone()
                target = place(box.height, box.width, height, width, rng)
                patches.append((row, target, self._changed(patch, rng)))
        for row, target, patch in patches:
            images[row, :, target.rows, target.columns] = patch
        return images

    def _changed(self, patch: Tensor, rng: np.random.Generator) -> Tensor:
        is_flipped, is_turned = rng.random(2) < (self.flip_probability, self.turn_probability)
        if is_flipped:
            patch = patch.flip(-1)
        if is_turned:
            degrees = int(rng.integers(-_LARGEST_TURN, _LARGEST_TURN + 1))
            patch = image_ops.rotate(patch.contiguous(), float(degrees), fill=self._black)
        return patch
