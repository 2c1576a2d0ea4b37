"""The checks of a backbone."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn

from reid_core.testing.module import ROUNDING, EmbeddingConformance
from reid_core.testing.tensors import describe, largest_difference, random_normal


class BackboneConformance(EmbeddingConformance):
    """The checks of a backbone: images (B, 3, H, W) float32 to a map or tokens.

    Attributes:
        image_sizes: Heights and widths that are tried; the last one serves the other checks.
    """

    kind = "backbones"
    image_sizes: ClassVar[tuple[tuple[int, int], ...]] = ((256, 128), (64, 32))

    def context(self) -> dict[str, object]:
        """Return the image size."""
        return {"image_size": self.image_sizes[-1]}

    def run(self, module: nn.Module, rows: int) -> dict[str, Tensor]:
        """Call the backbone on ``rows`` images of the last size."""
        return {"the output": self._forward(module, rows, self.image_sizes[-1])}

    def test_shapes_and_dtypes(self) -> None:
        """The output is what ``feature_dim`` and ``num_prefix_tokens`` announce."""
        for size in self.image_sizes:
            module = self.build_module(image_size=size)
            self._check_attributes(module)
            for rows in (1, 4):
                with torch.no_grad():
                    # One image at a time is for evaluation: there is no batch to normalise over.
                    output = self._forward(module.train(rows > 1), rows, size)
                self._check_output(module, output, f"{rows} images of {size}", rows)

    def test_input_is_left_alone(self) -> None:
        """The images are not changed in place: heads, hooks and logs may still read them."""
        module = self.build_module()
        images = _images(4, self.image_sizes[-1])
        with torch.no_grad():
            module(images)
        self.require(
            torch.equal(images, _images(4, self.image_sizes[-1])),
            "it changes its input in place; work on a copy (no in-place operation first)",
        )

    def test_channels_last_gives_the_same(self) -> None:
        """Another memory layout changes the speed, not the numbers."""
        module = self.build_module().eval()
        images = _images(4, self.image_sizes[-1])
        with torch.no_grad():
            expected = module(images)
            with self.attempt(
                "with train.channels_last",
                "expected any memory layout to do: use reshape or flatten in place of view",
            ):
                last = module.to(memory_format=torch.channels_last)
                output = last(images.contiguous(memory_format=torch.channels_last))
        difference = largest_difference(expected, output)
        self.require(
            difference <= ROUNDING,
            f"with train.channels_last the output differs by {difference:.2g} of the largest "
            "value; expected the same numbers",
        )

    def _forward(self, module: nn.Module, rows: int, size: tuple[int, int]) -> Tensor:
        mode = "training" if module.training else "evaluation"
        with self.attempt(
            f"on {rows} images of {size} in {mode} mode",
            "expected any such input to do; if it takes only certain sizes, set image_sizes",
        ):
            output = module(_images(rows, size))
        self.require(
            isinstance(output, Tensor), f"it returns {describe(output)}; expected one tensor"
        )
        assert isinstance(output, Tensor)
        return output

    def _check_attributes(self, module: nn.Module) -> None:
        feature_dim = getattr(module, "feature_dim", None)
        self.require(
            isinstance(feature_dim, int) and feature_dim > 0,
            f"its attribute feature_dim is {feature_dim!r}; expected the number of channels of "
            "the output, an int above 0",
        )
        prefix = getattr(module, "num_prefix_tokens", None)
        self.require(
            prefix is None or (isinstance(prefix, int) and prefix >= 0),
            f"its attribute num_prefix_tokens is {prefix!r}; expected None for a map, or the "
            "number of class and register tokens",
        )

    def _check_output(self, module: nn.Module, output: Tensor, given: str, rows: int) -> None:
        feature_dim = int(module.feature_dim)  # type: ignore[arg-type]
        prefix: object = getattr(module, "num_prefix_tokens", None)
        if prefix is None:
            is_right = output.dim() == 4 and output.shape[:2] == (rows, feature_dim)
            expected = f"a map ({rows}, feature_dim = {feature_dim}, h, w)"
            hint = "tokens need the attribute num_prefix_tokens"
        else:
            is_right = output.dim() == 3 and output.shape[::2] == (rows, feature_dim)
            is_right = is_right and output.shape[1] > int(str(prefix))
            expected = f"tokens ({rows}, more than {prefix}, feature_dim = {feature_dim})"
            hint = "a map needs num_prefix_tokens = None"
        self.require(
            is_right and output.numel() > 0,
            f"for {given} it returns {describe(output)}; expected {expected}; {hint}",
        )
        self.require(
            output.dtype == torch.float32,
            f"for {given} it returns {describe(output)}; expected float32, as the images are",
        )
        self.require(bool(torch.isfinite(output).all()), f"for {given} the output is not finite")


def _images(rows: int, size: tuple[int, int]) -> Tensor:
    """Return normalised images (rows, 3, H, W); the first do not depend on ``rows``."""
    return torch.cat([random_normal((1, 3, *size), seed) for seed in range(rows)])
