"""The checks of a transform."""

from __future__ import annotations

import pickle
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from reid_core.config.schema import DataConfig
from reid_core.data.transforms import BatchTransform, ImageTransform, split_stages
from reid_core.errors import PluginError
from reid_core.testing.base import Conformance
from reid_core.testing.failure import ConformanceError
from reid_core.testing.randomness import used_generators
from reid_core.testing.spawned_worker import transform_in_worker
from reid_core.testing.tensors import describe

#: Generator states that are tried: a transform with a probability acts for some of them.
_SEEDS = range(20)


class TransformConformance(Conformance):
    """The checks of a transform of single images or of batches.

    Attributes:
        image_sizes: Heights and widths that are tried.
    """

    kind = "transforms"
    image_sizes: ClassVar[tuple[tuple[int, int], ...]] = ((64, 32), (61, 37))

    def context(self) -> dict[str, object]:
        """Return the image size and ImageNet's channel statistics."""
        return {**DataConfig().transform_context, "image_size": self.image_sizes[0]}

    def build_transform(
        self, size: tuple[int, int] | None = None
    ) -> ImageTransform | BatchTransform:
        """Build the transform.

        Args:
            size: Height and width it is built for; the first of ``image_sizes`` by default.
        """
        transform = self.build(image_size=size or self.image_sizes[0])
        try:
            images, batches = split_stages([transform])
        except PluginError as error:
            raise ConformanceError(str(error)) from error
        return images[0] if images else batches[0]

    # Checks.

    def test_shape_and_dtype_are_kept(self) -> None:
        """Images stay (3, H, W) uint8, batches (B, 3, H, W) float32 and finite."""
        for size in self.image_sizes:
            transform = self.build_transform(size)
            for given in self._inputs(transform, size):
                for seed in _SEEDS:
                    output = self._apply(transform, given.clone(), seed)
                    self.require(
                        isinstance(output, Tensor)
                        and output.shape == given.shape
                        and output.dtype == given.dtype,
                        f"it makes {describe(output)} of {describe(given)}; expected the same "
                        "shape and dtype",
                    )
                    self.require(
                        bool(torch.isfinite(output).all()), "it makes numbers that are not finite"
                    )

    def test_image_is_left_alone(self) -> None:
        """An image transform makes a new image; the one it was given stays as it was."""
        transform = self.build_transform()
        if not isinstance(transform, ImageTransform):
            return  # a batch is handed over and may be changed
        for seed in _SEEDS:
            image = _image(self.image_sizes[0])
            before = image.clone()
            self._apply(transform, image, seed)
            self.require(
                torch.equal(image, before),
                "it changes the image that it was given; work on a copy: image.clone()",
            )

    def test_same_generator_gives_the_same(self) -> None:
        """The result depends on the input and the generator alone, not on earlier calls."""
        used, fresh = self.build_transform(), self.build_transform()
        given = next(iter(self._inputs(used, self.image_sizes[0])))
        for seed in _SEEDS:
            first = self._apply(used, given.clone(), seed)
            again = self._apply(fresh, given.clone(), seed)
            self.require(
                torch.equal(first, again),
                "two calls with the same input and the same generator state differ; take all "
                "randomness from rng, and keep nothing from call to call",
            )
            fresh = self.build_transform()

    def test_memory_layout_does_not_matter(self) -> None:
        """A decoded image may have its channels last in memory."""
        transform = self.build_transform()
        for given in self._inputs(transform, self.image_sizes[0]):
            last = given.movedim(-3, -1).contiguous().movedim(-1, -3)
            for seed in _SEEDS:
                self.require(
                    torch.equal(
                        self._apply(transform, given.clone(), seed),
                        self._apply(transform, last.clone(), seed),
                    ),
                    "an image with channels last in memory gives another result; expected the "
                    "same: use reshape in place of view",
                )

    def test_random_state_of_the_run_is_left_alone(self) -> None:
        """All randomness comes from the generator that is handed in."""
        given = next(iter(self._inputs(self.build_transform(), self.image_sizes[0])))

        def use() -> None:
            transform = self.build_transform()
            for seed in _SEEDS:
                self._apply(transform, given.clone(), seed)

        used = used_generators(use)
        self.require(
            not used,
            f"it uses the global generator of {', '.join(used)}; draw from the rng that is handed "
            "in, so that an image is the same whichever worker makes it",
        )

    def test_can_be_sent_to_a_worker(self) -> None:
        """An image transform can be pickled, and does the same in a spawned worker process."""
        transform = self.build_transform()
        if not isinstance(transform, ImageTransform):
            return  # it runs in the training process
        try:
            pickle.dumps(transform)
        except Exception as error:
            self.fail(
                f"it cannot be sent to a worker process: {error}; keep lambdas, local functions "
                "and open files out of it",
            )
        image = _image(self.image_sizes[0])
        expected = [self._apply(transform, image, seed) for seed in _SEEDS]
        with self.attempt("in a spawned worker process", "expected the same as here"):
            made = transform_in_worker(transform, image, _SEEDS)
        self.require(
            all(map(torch.equal, expected, made)),
            "in a spawned worker process it makes other images than here; what it needs must be "
            "in the object, not in global variables",
        )

    # Helpers.

    def _apply(
        self, transform: ImageTransform | BatchTransform, given: Tensor, seed: int
    ) -> Tensor:
        with self.attempt(
            f"on {describe(given)}", "expected __call__(image, rng) to take any image of this kind"
        ):
            return transform(given, np.random.default_rng(seed))

    @staticmethod
    def _inputs(
        transform: ImageTransform | BatchTransform, size: tuple[int, int]
    ) -> tuple[Tensor, ...]:
        if isinstance(transform, ImageTransform):
            return (_image(size),)
        normal = _image(size).float() / 64 - 2
        return normal[None], torch.stack([normal, normal.flip(-1), -normal])


def _image(size: tuple[int, int]) -> Tensor:
    """Return an image (3, H, W) uint8 in which no two parts look alike."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(1, 256, (3, *size), dtype=torch.uint8, generator=generator)
