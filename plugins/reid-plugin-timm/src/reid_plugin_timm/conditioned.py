"""A timm network that is told camera and view of its images."""

from __future__ import annotations

from torch import Tensor, nn

from reid_plugin_timm.layout import last_features
from reid_plugin_timm.side_information import SideInformation
from reid_plugin_timm.token_forward import token_forward


class Conditioned(nn.Module):
    """A network up to its last features, told camera and view where it wants them.

    Args:
        network: A timm model.
        side_information: What is added to its tokens, or None.

    Attributes:
        conditions: What ``forward`` wants besides the images, of ``camids`` and ``viewids``.
    """

    def __init__(self, network: nn.Module, side_information: SideInformation | None) -> None:
        super().__init__()
        self.model = network
        self.side_information = side_information
        self.conditions: tuple[str, ...] = (
            () if side_information is None else side_information.conditions
        )

    def forward(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return what timm's ``forward_features`` returns for (B, 3, H, W)."""
        added = self.side_information
        if added is None:
            return last_features(self.model, images)
        return token_forward(self.model, images, lambda tokens: added(tokens, camids, viewids))
