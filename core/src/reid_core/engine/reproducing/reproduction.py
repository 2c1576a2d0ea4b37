"""Whether a run that was done again came out the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class RowDifference:
    """The first number of the metric log that differs.

    Args:
        step: Steps done.
        name: The number's name; empty where a whole row has no counterpart.
        was: Its value; None where it has none, or is not finite.
        now: Its value in the repetition.
    """

    step: int
    name: str
    was: float | None
    now: float | None


@dataclass(frozen=True)
class FigureDifference:
    """A figure of an evaluation that differs.

    Args:
        dataset: The test set.
        step: Steps done.
        metric: Its name.
        was: Its value, a fraction.
        now: Its value in the repetition; None where there was no such evaluation.
    """

    dataset: str
    step: int
    metric: str
    was: float
    now: float | None


@dataclass(frozen=True)
class WeightsComparison:
    """The last weights of both runs.

    Args:
        was: SHA-256 of names, types, shapes and values.
        now: The same of the repetition.
        largest: Largest difference of two values; None where the tensors do not correspond.
        tensor: The tensor it is in; empty where there is none.
    """

    was: str
    now: str
    largest: float | None = None
    tensor: str = ""


@dataclass(frozen=True)
class Reproduction:
    """What the comparison of two runs gave.

    Args:
        num_rows: Rows of the metric log that were compared.
        last_step: Steps done in the last of them.
        first: The first number that differs; None where none does.
        num_figures: Figures of evaluations that were compared.
        figures: Those that differ, in the order of the evaluations.
        weights: The last weights; None where they could not be compared.
        notes: What could not be compared, in sentences.
    """

    num_rows: int
    last_step: int
    first: RowDifference | None
    num_figures: int
    figures: tuple[FigureDifference, ...]
    weights: WeightsComparison | None
    notes: tuple[str, ...]

    @property
    def is_equal(self) -> bool:
        """Whether all that was compared is equal, bit for bit."""
        same_weights = self.weights is None or self.weights.was == self.weights.now
        return self.first is None and not self.figures and same_weights

    def plain(self) -> dict[str, object]:
        """Return plain types for JSON."""
        return {"schema": 1, "equal": self.is_equal, **asdict(self)}

    def lines(self) -> list[str]:
        """Say it in a few lines, for people."""
        told = [f"{self.num_rows} rows of metrics up to step {self.last_step}"]
        told += [f"{self.num_figures} figures"] if self.num_figures else []
        told += ["the last weights"] if self.weights is not None else []
        if self.is_equal:
            return [f"reproduced: {', '.join(told)} are bitwise equal", *self.notes]
        return [
            f"not reproduced; compared were {', '.join(told)}",
            *self._row_lines(),
            *self._figure_lines(),
            *self._weights_lines(),
            *self.notes,
        ]

    def _row_lines(self) -> Iterator[str]:
        first = self.first
        if first is None:
            yield "all metrics are bitwise equal"
        elif first.name:
            far = "" if first.was is None or first.now is None else f" ({first.now - first.was:+g})"
            yield (
                f"the first difference is at step {first.step}: {first.name} was {first.was}, is "
                f"{first.now}{far}"
            )
        else:
            yield f"from step {first.step} on the runs have different rows"

    def _figure_lines(self) -> Iterator[str]:
        last = max((one.step for one in self.figures), default=0)
        final = [one for one in self.figures if one.step == last]
        for one in sorted(final, key=lambda one: -abs((one.now or 0.0) - one.was))[:5]:
            now = "missing" if one.now is None else f"{one.now:.4%} ({one.now - one.was:+.4%})"
            yield f"{one.dataset} {one.metric} after {one.step} steps was {one.was:.4%}, is {now}"

    def _weights_lines(self) -> Iterator[str]:
        if self.weights is None:
            return
        if self.weights.was == self.weights.now:
            yield "the last weights are bitwise equal"
        elif self.weights.largest is None:
            yield "the last weights have other tensors"
        else:
            far, tensor = self.weights.largest, self.weights.tensor
            yield f"the last weights differ by up to {far:g} ({tensor})"
