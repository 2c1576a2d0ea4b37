"""Horizontal stripes of a map: the parts of a person."""

from __future__ import annotations

from torch import Tensor

from reid_core.errors import ConfigError


def stripes(features: Tensor, count: int) -> list[Tensor]:
    """Cut a map into stripes of full width, from the top down.

    Stripe i of n covers the rows floor(i·h/n) to ceil((i + 1)·h/n) − 1, the rule of
    ``torch.nn.AdaptiveAvgPool2d``: where n does not divide h, neighbours share a row.

    Args:
        features: (B, C, h, w).
        count: n, at least 1.

    Returns:
        n views (B, C, h_i, w) of ``features``.

    Raises:
        ConfigError: The map has fewer rows than stripes are asked for.
    """
    height = features.shape[2]
    if height < count:
        raise ConfigError(
            f"the backbone's map has {height} rows, too few for {count} stripes; use a larger "
            "height in data.image_size, a backbone or stride that reduces it less, or fewer stripes"
        )
    return [
        features[:, :, part * height // count : -(-(part + 1) * height // count)]
        for part in range(count)
    ]
