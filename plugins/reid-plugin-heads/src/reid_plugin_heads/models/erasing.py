"""Rows of a map set to zero in training, so that a branch learns from what is left."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError
from reid_plugin_heads.checks import require_choice

EraseName = Literal["top", "band"]


class RowErasing(nn.Module):
    """Set whole rows of a map to zero in training; in evaluation the map passes unchanged.

    As many rows as ``ratio`` of the height are erased, rounded, at least 1 and at most all but 1.

    Args:
        ratio: Share of the rows, above 0 and below 1.

    Raises:
        ConfigError: ``ratio`` is out of its range.
    """

    def __init__(self, *, ratio: float = 0.33) -> None:
        super().__init__()
        if not 0.0 < ratio < 1.0:
            raise ConfigError(f"erase_ratio: got {ratio}, expected above 0 and below 1, as 0.33")
        self.ratio = ratio

    def forward(self, features: Tensor) -> Tensor:
        """Return (B, C, h, w), the rows erased in training.

        Args:
            features: (B, C, h, w), floating point.
        """
        height = features.shape[2]
        count = min(max(round(self.ratio * height), 1), height - 1)
        if not self.training or count == 0:
            return features
        kept = self.kept_rows(features.detach(), count)
        return features * kept[:, None, :, None].to(features.dtype)

    def kept_rows(self, features: Tensor, count: int) -> Tensor:
        """Choose the rows to erase.

        Args:
            features: (B, C, h, w), floating point, without gradient.
            count: Rows to erase, 1 to h − 1.

        Returns:
            (B, h) or (1, h), 1 where a row is kept and 0 where it is erased.
        """
        raise NotImplementedError


class TopErasing(RowErasing):
    """Erase in each image the rows that are most active.

    The activity of a row is the largest sum of squares over the channels of its positions. Nothing
    is drawn: the rows follow from the features.

    Source: Quispe and Pedrini, "Top-DB-Net: Top DropBlock for Activation Enhancement in Person
        Re-Identification", section III-C.
    """

    def kept_rows(self, features: Tensor, count: int) -> Tensor:
        """Return (B, h), as :meth:`RowErasing.kept_rows`."""
        activity = features.float().square().sum(dim=1).amax(dim=2)
        top = activity.topk(count, dim=1).indices
        return torch.ones_like(activity).scatter(1, top, 0.0)


class BandErasing(RowErasing):
    """Erase one band of neighbouring rows, at a random height that is the same for all images.

    The height is drawn from torch's global generator of the features' device.

    Source: Dai et al., "Batch DropBlock Network for Person Re-identification and Beyond",
        section 3.2, with the full width.
    """

    def kept_rows(self, features: Tensor, count: int) -> Tensor:
        """Return (1, h), as :meth:`RowErasing.kept_rows`."""
        height, device = features.shape[2], features.device
        start = torch.randint(height - count + 1, (1, 1), device=device)
        rows = torch.arange(height, device=device)[None]
        return ((rows < start) | (rows >= start + count)).float()


def build_erasing(name: EraseName, *, ratio: float) -> RowErasing:
    """Build a layer that erases rows.

    Args:
        name: ``"top"`` or ``"band"``.
        ratio: Share of the rows, above 0 and below 1.

    Raises:
        ConfigError: No such name, or ``ratio`` is out of its range.
    """
    require_choice("erase", name, ("top", "band"))
    return TopErasing(ratio=ratio) if name == "top" else BandErasing(ratio=ratio)
