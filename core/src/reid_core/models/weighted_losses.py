"""The weighted sum of losses that every model minimises."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import cast

import torch
from torch import Tensor, nn

from reid_core.contracts import Batch, HeadOutput, TrainOutput
from reid_core.errors import ConfigError, PluginError
from reid_core.models.gathered import gathered_batch, gathered_output, is_in_several_processes
from reid_core.plugins.origin import origin_of

#: The only loss that comes out while outputs are captured.
CAPTURED = "captured"


@dataclass(frozen=True)
class WeightedLoss:
    """A loss and its place in the sum.

    Args:
        name: Its name in logs.
        loss: From a :class:`HeadOutput` and its :class:`Batch` to a scalar.
        weight: Factor in the sum, at least 0.
        branches: Patterns of the branches it sees; None is all of them.
        gather: Whether it sees the batches of all processes together.
    """

    name: str
    loss: nn.Module
    weight: float = 1.0
    branches: tuple[str, ...] | None = None
    gather: bool = False


class WeightedLosses(nn.ModuleList):
    """Losses that are computed from one output and summed with their weights.

    It is a list of modules, in the order given, so that a loss with parameters is trained and saved
    with the model.

    Args:
        losses: The losses; none for a model that only embeds.
    """

    def __init__(self, losses: Sequence[WeightedLoss]) -> None:
        super().__init__(entry.loss for entry in losses)
        self._entries = [
            # The module is kept once, in the list, so that moving the list moves it.
            replace(entry, loss=nn.Identity())
            for entry in losses
        ]
        self._captured: list[HeadOutput] | None = None

    def weighted(self, output: HeadOutput, batch: Batch) -> TrainOutput:
        """Compute every loss, in float32 even where the rest runs in lower precision.

        Args:
            output: What the heads made of the batch.
            batch: The batch.

        Returns:
            The weighted losses by name, their metrics as ``name/key``, and the ``accuracy`` of the
            class scores.

        Raises:
            ConfigError: The branches that a loss asks for do not exist.
            PluginError: A loss gives what cannot be minimised.
        """
        if self._captured is not None:
            self._captured.append(output)
            return TrainOutput({CAPTURED: torch.zeros((), device=batch.images.device)})
        with torch.autocast(batch.images.device.type, enabled=False):
            return self._weighted(_as_float32(output), batch)

    @contextmanager
    def capturing(self) -> Iterator[list[HeadOutput]]:
        """Keep the outputs that losses would be computed from, and compute none.

        Meanwhile :meth:`weighted` gives one loss, :data:`CAPTURED`, that is 0.

        Yields:
            The outputs, in the order of the calls, as the model gave them.
        """
        captured: list[HeadOutput] = []
        self._captured = captured
        try:
            yield captured
        finally:
            self._captured = None

    def describe(self) -> str:
        """Return the losses with their weights and branches in one line, for the log."""
        return ", ".join(
            f"{entry.weight:g} x {entry.name}"
            + ("" if entry.branches is None else f" of {' '.join(entry.branches)}")
            for entry in self._entries
        )

    def collapsed_values(self) -> dict[str, float]:
        """Return the weighted values that losses take when all embeddings are equal, by name.

        Only losses that have a number ``collapsed_value`` tell it.
        """
        values = {}
        for entry, loss in zip(self._entries, self, strict=True):
            value = getattr(loss, "collapsed_value", None)
            if isinstance(value, int | float):
                values[entry.name] = value * entry.weight
        return values

    def lacking_gather(self) -> list[str]:
        """Return the names of losses that must see the batches of all processes, and do not.

        They say so by ``needs_gather = True``.
        """
        return [
            entry.name
            for entry, loss in zip(self._entries, self, strict=True)
            if getattr(loss, "needs_gather", False) is True and not entry.gather
        ]

    def _weighted(self, output: HeadOutput, batch: Batch) -> TrainOutput:
        losses: dict[str, Tensor] = {}
        metrics: dict[str, Tensor] = {}
        everything = output, batch
        if is_in_several_processes() and any(entry.gather for entry in self._entries):
            everything = gathered_output(output), gathered_batch(batch)
        for entry, loss in zip(self._entries, self, strict=True):
            whole, rows = everything if entry.gather else (output, batch)
            seen = whole if entry.branches is None else _select(whole, entry)
            value = loss(seen, rows)
            _check_loss(entry.name, loss, value, seen)
            losses[entry.name] = value * entry.weight
            report = getattr(loss, "metrics", None)
            if callable(report):
                metrics |= _checked_metrics(entry.name, loss, report())
        scores = output.logits if output.scores is None else output.scores
        if scores:
            metrics["accuracy"] = _accuracy(scores, batch.pids)
        return TrainOutput(losses, metrics)


def losses_of(model: nn.Module) -> WeightedLosses | None:
    """Return the losses of a model; None where it computes them in a way of its own."""
    found = [module for module in model.modules() if isinstance(module, WeightedLosses)]
    return found[0] if found else None


def collapsed_values(model: nn.Module) -> dict[str, float]:
    """Return :meth:`WeightedLosses.collapsed_values` of a model, nothing where it has none."""
    losses = losses_of(model)
    return {} if losses is None else losses.collapsed_values()


def _select(output: HeadOutput, entry: WeightedLoss) -> HeadOutput:
    """Return what is left of an output when a loss sees some branches only."""
    patterns = entry.branches or ()
    known = dict.fromkeys([*output.features, *output.logits])
    unmatched = [p for p in patterns if not any(fnmatchcase(name, p) for name in known)]
    if unmatched:
        raise ConfigError(
            f"model.losses: {entry.name} asks for branches {unmatched}, which match none of the "
            f"head's (it has: {', '.join(known) or 'none'})"
        )

    def chosen(values: Mapping[str, Tensor]) -> dict[str, Tensor]:
        return {
            name: value
            for name, value in values.items()
            if any(fnmatchcase(name, pattern) for pattern in patterns)
        }

    features, logits = chosen(output.features), chosen(output.logits)
    return replace(output, features=features, logits=logits)


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
    scores, attributes = output.scores, output.attributes
    return HeadOutput(
        embedding=output.embedding.float(),
        features={name: value.float() for name, value in output.features.items()},
        logits={name: value.float() for name, value in output.logits.items()},
        scores=None if scores is None else {name: v.float() for name, v in scores.items()},
        attributes=None if attributes is None else attributes.float(),
    )


@torch.no_grad()
def _accuracy(scores: Mapping[str, Tensor], pids: Tensor) -> Tensor:
    """Return the top-1 accuracy, a scalar in 0..1, over the mean of all branches' scores."""
    mean = torch.stack([value.detach() for value in scores.values()]).mean(dim=0)
    return (mean.argmax(dim=1) == pids).float().mean()
