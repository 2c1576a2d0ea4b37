"""One backbone, one head, a weighted sum of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput, ReidModel, TrainOutput


@dataclass(frozen=True)
class WeightedLoss:
    """A loss, its name in logs, and its weight in the sum."""

    name: str
    loss: nn.Module
    weight: float = 1.0


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
        # A list: a ModuleDict refuses names that are methods of it, such as "values".
        self.losses = nn.ModuleList(entry.loss for entry in losses)
        self._names = [entry.name for entry in losses]
        self._weights = [entry.weight for entry in losses]

    def embed(self, images: Tensor) -> Tensor:
        """Return the embeddings (B, D) float32 of normalised images (B, 3, H, W)."""
        output: HeadOutput = self.head(self.backbone(images))
        return output.embedding.float()

    def forward(self, batch: Batch) -> TrainOutput | Tensor:
        """Return losses in training mode, embeddings (B, D) in evaluation mode."""
        if not self.training:
            return self.embed(batch.images)
        output: HeadOutput = self.head(self.backbone(batch.images), batch.pids)
        with torch.autocast(batch.images.device.type, enabled=False):
            return self._losses(_as_float32(output), batch)

    def _losses(self, output: HeadOutput, batch: Batch) -> TrainOutput:
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        for name, weight, loss in zip(self._names, self._weights, self.losses, strict=True):
            losses[name] = loss(output, batch) * weight
            report = getattr(loss, "metrics", None)
            if callable(report):
                metrics |= {f"{name}/{key}": value for key, value in report().items()}
        scores = output.logits if output.scores is None else output.scores
        if scores:
            metrics["accuracy"] = _accuracy(scores, batch.pids)
        return TrainOutput(losses, metrics)


def _as_float32(output: HeadOutput) -> HeadOutput:
    scores = output.scores
    return HeadOutput(
        embedding=output.embedding.float(),
        features={name: value.float() for name, value in output.features.items()},
        logits={name: value.float() for name, value in output.logits.items()},
        scores=None if scores is None else {name: v.float() for name, v in scores.items()},
    )


@torch.no_grad()
def _accuracy(scores: Mapping[str, Tensor], pids: Tensor) -> Tensor:
    """Return the top-1 accuracy, a scalar in 0..1, over the mean of all branches' scores."""
    mean = torch.stack([value.detach() for value in scores.values()]).mean(dim=0)
    return (mean.argmax(dim=1) == pids).float().mean()
