"""What models with several branches have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput, ReidModel, TrainOutput
from reid_core.errors import PluginError
from reid_core.models import WeightedLoss, WeightedLosses, condition_values
from reid_plugin_heads.models.splitting import SplitBackbone


class ComposedModel(ReidModel):
    """A trunk, branches, and one head that makes a :class:`HeadOutput` of all of them.

    In training mode ``model(batch)`` returns a :class:`TrainOutput`; in evaluation mode it returns
    the embeddings.

    Args:
        backbone: The backbone, taken apart.
        head: From the features of all branches, a list, and labels (B,) or None to a
            :class:`HeadOutput`.
        losses: The losses; none for a model that only embeds.
    """

    def __init__(
        self, *, backbone: SplitBackbone, head: nn.Module, losses: Sequence[WeightedLoss]
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.head = head
        self.losses = WeightedLosses(losses)
        self.conditions = backbone.conditions

    def embed(
        self, images: Tensor, camids: Tensor | None = None, viewids: Tensor | None = None
    ) -> Tensor:
        """Return the embeddings (B, D) float32 of normalised images (B, 3, H, W).

        Args:
            images: (B, 3, H, W) float32.
            camids: (B,) int64, where the backbone is conditioned on cameras.
            viewids: (B,) int64, where it is conditioned on views.

        Raises:
            PluginError: A condition of the backbone is missing.
        """
        given = {"camids": camids, "viewids": viewids}
        values = {name: value for name in self.conditions if (value := given[name]) is not None}
        if len(values) < len(self.conditions):
            wanted = ", ".join(f"{name}=codes" for name in self.conditions)
            raise PluginError(
                f"the model is conditioned on {' and '.join(self.conditions)}, got "
                f"{' and '.join(values) or 'none of them'}; expected embed(images, {wanted})"
            )
        return self._output(images, None, values).embedding.float()

    def forward(self, batch: Batch) -> TrainOutput | Tensor:
        """Return losses in training mode, embeddings (B, D) in evaluation mode."""
        values = condition_values(batch, self.conditions)
        if not self.training:
            return self.embed(batch.images, **values)
        return self.losses.weighted(self._output(batch.images, batch.pids, values), batch)

    def _output(
        self, images: Tensor, pids: Tensor | None, conditions: Mapping[str, Tensor]
    ) -> HeadOutput:
        output: HeadOutput = self.head(self.backbone(images, **conditions), pids)
        return output
