"""One backbone, one head, a weighted sum of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput, ReidModel, TrainOutput
from reid_core.errors import PluginError
from reid_core.models.conditions import condition_values, conditions_of
from reid_core.models.weighted_losses import WeightedLoss, WeightedLosses
from reid_core.plugins.origin import origin_of


class Baseline(ReidModel):
    """Backbone, head, losses, one after the other.

    In training mode ``model(batch)`` returns a :class:`TrainOutput`; in evaluation mode it returns
    the embeddings. Losses are computed in float32 even where the rest runs in lower precision.

    Args:
        backbone: Images to features; see :class:`reid_core.contracts.Backbone`.
        head: Features to a :class:`HeadOutput`.
        losses: The losses; none for a model that only embeds.
    """

    def __init__(
        self, *, backbone: nn.Module, head: nn.Module, losses: Sequence[WeightedLoss] = ()
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.losses = WeightedLosses(losses)
        self.conditions = conditions_of(backbone)

    def embed(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return the embeddings (B, D) float32 of normalised images (B, 3, H, W).

        Args:
            images: (B, 3, H, W) float32.
            camids: (B,) int64, where the backbone is conditioned on cameras.
            viewids: (B,) int64, where it is conditioned on views.

        Raises:
            PluginError: A condition of the backbone is missing, or it gave no tensor.
        """
        given = {"camids": camids, "viewids": viewids}
        values = {name: value for name in self.conditions if (value := given[name]) is not None}
        missing = [name for name in self.conditions if name not in values]
        if missing:
            raise PluginError(
                f"the model is conditioned on {' and '.join(missing)}; expected "
                f"embed(images, {', '.join(f'{name}=codes' for name in self.conditions)})"
            )
        output: HeadOutput = self.head(self._features(images, values))
        return output.embedding.float()

    def forward(self, batch: Batch) -> TrainOutput | Tensor:
        """Return losses in training mode, embeddings (B, D) in evaluation mode."""
        values = condition_values(batch, self.conditions)
        if not self.training:
            return self.embed(batch.images, **values)
        output: HeadOutput = self.head(self._features(batch.images, values), batch.pids)
        return self.losses.weighted(output, batch)

    def _features(self, images: Tensor, conditions: Mapping[str, Tensor]) -> Tensor:
        features: object = self.backbone(images, **conditions)
        if not isinstance(features, Tensor):
            raise PluginError(
                f"backbone {type(self.backbone).__name__} ({origin_of(self.backbone)}) gave a "
                f"{type(features).__name__}; expected a tensor: a map (B, C, h, w), or tokens "
                "(B, N, C)"
            )
        return features
