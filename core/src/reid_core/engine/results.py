"""The evaluations of a run, as ``results.json`` keeps them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from torch import nn

from reid_core.checkpoint.atomic import write_text_atomically
from reid_core.evaluation import RetrievalResult


@dataclass(frozen=True)
class Evaluation:
    """One evaluation of one test set, with everything that belongs beside its numbers."""

    dataset: str
    step: int
    epoch: float
    protocol: str
    protocol_description: str
    distance: str
    metrics: dict[str, float]
    num_queries: int
    num_valid_queries: int
    num_gallery: int
    weights: str = "last"
    #: Where the embedding is taken from, in the words of the head: ``before`` or ``after`` its
    #: normalisation, say; empty where the model does not tell.
    test_feature: str = ""
    #: How an embedding was made of an image where it is not the plain way: flip, scales, crops.
    features: str = ""
    #: What was done between embeddings and figures (re-ranking), in order; empty for plain figures.
    postprocessing: list[str] = field(default_factory=list)
    #: Draws that the figures are means over.
    num_trials: int = 1
    #: Standard deviation over the draws of each figure, by name; empty without draws.
    deviations: dict[str, float] = field(default_factory=dict)
    #: Queries without a valid match that are part of the measurement (open set).
    num_unknown: int = 0
    #: Why the numbers say less than they seem to.
    caveats: list[str] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        name: str,
        result: RetrievalResult,
        *,
        step: int,
        epoch: float,
        weights: str = "last",
        test_feature: str = "",
        features: str = "",
        caveats: Sequence[str] = (),
    ) -> Evaluation:
        """Make the record of a result; its warnings are added to the caveats."""
        return cls(
            dataset=name,
            step=step,
            epoch=epoch,
            protocol=result.protocol,
            protocol_description=result.protocol_description,
            distance=result.distance,
            metrics=result.scalars(),
            num_queries=result.num_queries,
            num_valid_queries=result.num_valid_queries,
            num_gallery=result.num_gallery,
            weights=weights,
            test_feature=test_feature,
            features=features,
            postprocessing=list(result.postprocessing),
            num_trials=result.num_trials,
            deviations=dict(result.deviations),
            num_unknown=result.num_unknown,
            caveats=[*caveats, *result.warnings()],
        )

    def line(self) -> str:
        """Return the numbers in one line, with protocol and distance beside them.

        What follows a ± is the standard deviation over the draws.
        """
        numbers = "  ".join(
            f"{name} {100 * value:.2f}{self._spread(name)} %"
            for name, value in self.metrics.items()
        )
        trials = [f"mean of {self.num_trials} draws"] if self.num_trials > 1 else []
        beside = [*trials, *filter(None, [self.features]), *self.postprocessing, *self.caveats]
        told = "".join(f"; {one}" for one in beside)
        return (
            f"{self.dataset}: {numbers}  (protocol {self.protocol}, {self.distance} distance{told})"
        )

    def _spread(self, name: str) -> str:
        deviation = self.deviations.get(name)
        return "" if deviation is None else f" ± {100 * deviation:.2f}"


def feature_of(model: nn.Module) -> str:
    """Return where a model's embedding is taken from, as one of its parts says, or nothing."""
    told = (getattr(module, "test_feature", None) for module in model.modules())
    return next((value for value in told if isinstance(value, str)), "")


def feature_words(test_feature: str) -> str:
    """Say for people where an embedding is taken from.

    Args:
        test_feature: In the words of the head; empty where the model does not tell.
    """
    if test_feature in ("before", "after"):
        return f"embedding {test_feature} the neck"
    return f"test_feature {test_feature}" if test_feature else ""


@dataclass(frozen=True)
class Best:
    """The best value of the monitored metric so far."""

    dataset: str
    metric: str
    value: float
    step: int


@dataclass
class Results:
    """All evaluations of a run in time order, and the best."""

    evaluations: list[Evaluation] = field(default_factory=list)
    best: Best | None = None

    def latest(self) -> dict[str, dict[str, float]]:
        """Return the newest metrics of each test set, by name; plain ones, without reranking."""
        plain = (entry for entry in self.evaluations if not entry.postprocessing)
        return {entry.dataset: entry.metrics for entry in plain}

    def add(self, evaluation: Evaluation, *, monitor: str | None) -> bool:
        """Add an evaluation.

        Args:
            evaluation: The record.
            monitor: The metric that decides what is best; None if this set does not.

        Returns:
            Whether it is the best so far.
        """
        self.evaluations.append(evaluation)
        if monitor is None:
            return False
        value = evaluation.metrics[monitor]
        if self.best is not None and value <= self.best.value:
            return False
        self.best = Best(evaluation.dataset, monitor, value, evaluation.step)
        return True

    def to_plain(self) -> dict[str, object]:
        """Return plain types for a checkpoint or JSON."""
        return {
            "schema": 1,
            "evaluations": [asdict(entry) for entry in self.evaluations],
            "best": asdict(self.best) if self.best else None,
        }

    @classmethod
    def from_plain(cls, plain: dict[str, object]) -> Results:
        """Read what :meth:`to_plain` returned."""
        evaluations = plain["evaluations"]
        best = plain["best"]
        assert isinstance(evaluations, list)
        return cls(
            [Evaluation(**entry) for entry in evaluations],
            Best(**best) if isinstance(best, dict) else None,
        )

    def write(self, path: Path, *, outcome: str) -> None:
        """Write ``results.json``."""
        text = json.dumps({**self.to_plain(), "outcome": outcome}, indent=2)
        write_text_atomically(path, text + "\n")
