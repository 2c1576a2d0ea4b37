"""One backbone, one head, a weighted sum of losses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput, ReidModel, TrainOutput
from reid_core.errors import PluginError
from reid_core.plugins.origin import origin_of


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
        output: HeadOutput = self.head(self._features(images))
        return output.embedding.float()

    def forward(self, batch: Batch) -> TrainOutput | Tensor:
        """Return losses in training mode, embeddings (B, D) in evaluation mode."""
        if not self.training:
            return self.embed(batch.images)
        output: HeadOutput = self.head(self._features(batch.images), batch.pids)
        with torch.autocast(batch.images.device.type, enabled=False):
            return self._losses(_as_float32(output), batch)

    def _features(self, images: Tensor) -> Tensor:
        features: object = self.backbone(images)
        if not isinstance(features, Tensor):
            raise PluginError(
                f"backbone {type(self.backbone).__name__} ({origin_of(self.backbone)}) gave a "
                f"{type(features).__name__}; expected a tensor: a map (B, C, h, w), or tokens "
                "(B, N, C)"
            )
        return features

    def _losses(self, output: HeadOutput, batch: Batch) -> TrainOutput:
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        for name, weight, loss in zip(self._names, self._weights, self.losses, strict=True):
            value = loss(output, batch)
            _check_loss(name, loss, value, output)
            losses[name] = value * weight
            report = getattr(loss, "metrics", None)
            if callable(report):
                metrics |= _checked_metrics(name, loss, report())
        scores = output.logits if output.scores is None else output.scores
        if scores:
            metrics["accuracy"] = _accuracy(scores, batch.pids)
        return TrainOutput(losses, metrics)


def _check_loss(name: str, loss: nn.Module, value: object, output: HeadOutput) -> None:
    """Refuse what cannot be minimised."""
    if not isinstance(value, Tensor) or value.dim() != 0:
        got = tuple(value.shape) if isinstance(value, Tensor) else f"a {type(value).__name__}"
        raise PluginError(
            f"loss {name} ({origin_of(loss)}) gave {got}; expected a scalar tensor, for example "
            "its mean over the batch"
        )
    has_gradient = any(feature.requires_grad for feature in output.features.values())
    if torch.is_grad_enabled() and has_gradient and not value.requires_grad:
        raise PluginError(
            f"loss {name} ({origin_of(loss)}) has no gradient, so nothing is learned from it; "
            "look for detach(), .data, .item() or torch.no_grad() in it (a loss that is 0 on "
            "purpose is features.sum() * 0)"
        )


def _checked_metrics(name: str, loss: nn.Module, metrics: object) -> dict[str, Tensor]:
    """Return the metrics of a loss by their names in the log."""
    for key, value in metrics.items() if isinstance(metrics, Mapping) else [("", metrics)]:
        if not isinstance(value, Tensor) or value.dim() != 0:
            got = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
            raise PluginError(
                f"loss {name} ({origin_of(loss)}): metrics() gave {key or 'something'!r} as "
                f"{got}; expected a mapping of names to detached scalar tensors"
            )
    return {f"{name}/{key}": value for key, value in cast("Mapping[str, Tensor]", metrics).items()}


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
