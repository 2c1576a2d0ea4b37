"""A timm network that is told camera and view of its images."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor, nn

from reid_plugin_timm.layout import last_features
from reid_plugin_timm.position_table import fit_position_table
from reid_plugin_timm.side_information import SideInformation, refuse_table
from reid_plugin_timm.token_forward import token_forward

#: Key of the camera or view table.
_TABLE = "side_information.table"


class Conditioned(nn.Module):
    """A network up to its last features, told camera and view where it wants them.

    Args:
        network: A timm model.
        side_information: What is added to its tokens, or None.
        is_table_reset: Whether a camera or view table of another shape is started anew when the
            weights of a whole model are loaded, and not refused.

    Attributes:
        conditions: What ``forward`` wants besides the images, of ``camids`` and ``viewids``.
    """

    def __init__(
        self,
        network: nn.Module,
        side_information: SideInformation | None,
        *,
        is_table_reset: bool = False,
    ) -> None:
        super().__init__()
        self._is_table_reset = is_table_reset
        self.model = network
        self.side_information = side_information
        self.conditions: tuple[str, ...] = (
            () if side_information is None else side_information.conditions
        )

    def fit_weights(self, state: Mapping[str, Tensor], *, source: str) -> dict[str, Tensor]:
        """Bring position table and camera table of a whole model's weights into shape.

        Args:
            state: Tensors by the keys of this module, as the file has them.
            source: The file, for messages.

        Returns:
            The same keys, the position table on the grid of this network, the camera table of the
            file or, where that is asked for and it does not fit, of this module.

        Raises:
            CheckpointError: The grid of the file cannot be told, or its cameras are others.
        """
        fitted = dict(state)
        network = {k.removeprefix("model."): v for k, v in state.items() if k.startswith("model.")}
        positions = fit_position_table(network, self.model, weights_grid=None, source=source)
        if positions is not None:
            fitted["model.pos_embed"] = positions
        table = state.get(_TABLE)
        if self.side_information is None:
            refuse_table(table, source=source)
        elif network:
            self.side_information.load_table(table, source=source, reset=self._is_table_reset)
            fitted[_TABLE] = self.side_information.table.detach().clone()
        return fitted

    def forward(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return what timm's ``forward_features`` returns for (B, 3, H, W)."""
        added = self.side_information
        if added is None:
            return last_features(self.model, images)
        return token_forward(self.model, images, lambda tokens: added(tokens, camids, viewids))
