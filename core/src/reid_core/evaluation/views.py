"""Several views of an image, one embedding: mirrored, in several sizes, several crops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError, UsageError
from reid_core.evaluation.extract import EmbeddingModel, evaluating

#: How much larger than a crop the image is that five crops are cut from.
CROP_MARGIN = 1.125


@dataclass(frozen=True, kw_only=True)
class Views:
    """Which views of an image are embedded, and what is made of their embeddings.

    With n views, the embedding of an image is the mean ``(1/n) Σ f(view)`` of what the model says
    of each. No view is scaled to length 1 before, so equal views give what one of them gives; with
    ``normalize`` the mean is scaled at the end.

    Args:
        flip: Whether each view is embedded mirrored too.
        scales: Factors on the image size, above 0, at least one; the image is embedded in each.
        crops: 1 is the whole image; 5 are the corners and the middle of an image that is 1.125
            times as large.
        normalize: Whether the embedding is scaled to length 1 at the end.

    Raises:
        UsageError: There is no scale, one is not above 0, or ``crops`` is another number.
    """

    flip: bool = False
    scales: Sequence[float] = (1.0,)
    crops: Literal[1, 5] = 1
    normalize: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scales", tuple(self.scales))
        if not self.scales or any(scale <= 0 for scale in self.scales):
            raise UsageError(
                f"views: scales is {list(self.scales)}; expected at least one factor above 0, such "
                "as [1.0, 1.25]"
            )
        if self.crops not in (1, 5):
            raise UsageError(f"views: crops is {self.crops}; expected 1 or 5")

    @property
    def num_views(self) -> int:
        """Embeddings that one image takes."""
        return len(self.scales) * self.crops * (2 if self.flip else 1)

    @property
    def is_plain(self) -> bool:
        """Whether the embedding is what the model says of the image as it is."""
        return self == Views()

    def sizes(self, image_size: tuple[int, int]) -> list[tuple[int, int]]:
        """Return height and width of the views, by scale, in pixels."""
        return [_scaled(image_size, scale) for scale in self.scales]

    def loaded_size(self, image_size: tuple[int, int]) -> tuple[int, int]:
        """Return the height and width that images are to be loaded in: the largest that is needed.

        Args:
            image_size: Height and width of the model's images in pixels.
        """
        return _scaled(image_size, max(self.scales) * self._margin)

    @property
    def description(self) -> str:
        """What is done, in words; empty where it is nothing."""
        parts = [self._of_views()] if self.num_views > 1 or self.scales != (1.0,) else []
        return "; ".join(parts + (["L2-normalised"] if self.normalize else []))

    def cut(self, images: Tensor, image_size: tuple[int, int]) -> Iterator[Tensor]:
        """Make the views of a batch, one after the other.

        Args:
            images: (B, 3, H', W') of :meth:`loaded_size`, float32.
            image_size: Height and width of the model's images in pixels.

        Yields:
            (B, 3, h, w) of each view: by scale, in it by crop, in it as it is and then mirrored.
        """
        for scale, size in zip(self.scales, self.sizes(image_size), strict=True):
            whole = _resized(images, _scaled(image_size, scale * self._margin))
            for view in [whole] if self.crops == 1 else _five_crops(whole, size):
                yield view
                if self.flip:
                    yield view.flip(-1)

    @property
    def _margin(self) -> float:
        return CROP_MARGIN if self.crops == 5 else 1.0

    def _of_views(self) -> str:
        scales = "" if self.scales == (1.0,) else _named(self.scales)
        if self.num_views == 1:
            return f"image at {scales}"
        if self.crops == 1 and len(self.scales) == 1:
            kinds = ["image, mirrored", scales]
        else:
            crops = "5 crops" if self.crops == 5 else ""
            kinds = [crops, scales, "each mirrored too" if self.flip else ""]
        return f"mean of {self.num_views} views: {', '.join(filter(None, kinds))}"


class ViewsModel:
    """A model whose embedding of an image is the mean over views of it.

    Args:
        model: What embeds a view.
        views: Which views.
        image_size: Height and width in pixels of a view at scale 1.
    """

    def __init__(self, model: EmbeddingModel, views: Views, image_size: tuple[int, int]) -> None:
        self._model = model
        self._views = views
        self._image_size = image_size
        #: What the model wants of an image besides its pixels.
        self.conditions: tuple[str, ...] = getattr(model, "conditions", ())

    def embed(self, images: Tensor, /, **conditions: Tensor) -> Tensor:
        """Embed images.

        Args:
            images: (B, 3, H', W') float32, of :meth:`Views.loaded_size`.
            conditions: What the model wants besides, (B,) int64 by name.

        Returns:
            (B, D) float32.

        Raises:
            UsageError: The images have another size.
        """
        expected = self._views.loaded_size(self._image_size)
        if tuple(images.shape[-2:]) != expected:
            raise UsageError(
                f"views: the images are {_by(images.shape[-2:])}; expected {_by(expected)}, what "
                f"views at image size {_by(self._image_size)} are cut from"
            )
        total: Tensor | None = None
        for view in self._views.cut(images, self._image_size):
            embedding = self._model.embed(view, **conditions).float()
            total = embedding if total is None else total + embedding
        if total is None:
            raise AssertionError("there is at least one view")
        mean = total / self._views.num_views
        return nn.functional.normalize(mean, dim=1) if self._views.normalize else mean

    def eval(self) -> object:
        """Switch the model to evaluation."""
        return self._model.eval()

    def modules(self) -> Iterator[nn.Module]:
        """Yield the model and every module in it."""
        return self._model.modules()


def with_views(model: EmbeddingModel, views: Views, image_size: tuple[int, int]) -> EmbeddingModel:
    """Return a model that embeds views; the model itself where the views are the plain image.

    Args:
        model: What embeds a view.
        views: Which views.
        image_size: Height and width in pixels of a view at scale 1.
    """
    return model if views.is_plain else ViewsModel(model, views, image_size)


def check_sizes(
    model: EmbeddingModel, views: Views, image_size: tuple[int, int], device: torch.device
) -> None:
    """Try the sizes of views that are not the model's own, on a black image.

    Args:
        model: On ``device`` already; left as it was.
        views: Which views.
        image_size: Height and width in pixels of a view at scale 1.
        device: Where the model is.

    Raises:
        ConfigError: The model cannot embed a size.
    """
    conditions = {
        name: torch.zeros(1, dtype=torch.int64, device=device)
        for name in getattr(model, "conditions", ())
    }
    for scale, size in zip(views.scales, views.sizes(image_size), strict=True):
        if size == tuple(image_size):
            continue
        try:
            with evaluating(model), torch.inference_mode():
                model.embed(torch.zeros(1, 3, *size, device=device), **conditions)
        except Exception as error:
            raise ConfigError(
                f"evaluate.features.scales: {_name(model)} cannot embed images of {_by(size)} "
                f"pixels, data.image_size {_by(image_size)} at scale {scale:g} ({_first(error)}); "
                "models with a table of positions take one size only: leave the scales at [1.0], "
                "or choose a model that takes any size"
            ) from error


def _scaled(size: tuple[int, int], factor: float) -> tuple[int, int]:
    height, width = size
    return max(1, round(height * factor)), max(1, round(width * factor))


def _resized(images: Tensor, size: tuple[int, int]) -> Tensor:
    if tuple(images.shape[-2:]) == size:
        return images
    return nn.functional.interpolate(
        images, size=size, mode="bilinear", align_corners=False, antialias=True
    )


def _five_crops(images: Tensor, size: tuple[int, int]) -> Iterator[Tensor]:
    """Yield the corners, top left to bottom right, and the middle."""
    (height, width), (h, w) = images.shape[-2:], size
    corners = [(top, left) for top in (0, height - h) for left in (0, width - w)]
    for top, left in [*corners, ((height - h) // 2, (width - w) // 2)]:
        yield images[..., top : top + h, left : left + w]


def _named(scales: Sequence[float]) -> str:
    return f"scale{'s' if len(scales) > 1 else ''} {', '.join(f'{scale:g}' for scale in scales)}"


def _by(size: Sequence[int]) -> str:
    return f"{size[0]}×{size[1]}"


def _name(model: EmbeddingModel) -> str:
    """Name a model, and its backbone where it has one: several models share the first."""
    backbone = getattr(model, "backbone", None)
    told = type(model).__name__
    return told if backbone is None else f"{told} with backbone {type(backbone).__name__}"


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
