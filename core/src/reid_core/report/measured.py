"""The evaluations of a run in full, as text and drawings for the page."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from reid_core.report.camera_table import CameraTable, camera_table
from reid_core.report.drawings import Drawing, histogram_drawing, lines_drawing, map_drawing
from reid_core.report.figure_sets import FigureSet, figure_sets, variant_name
from reid_core.report.measured_box import box_pairs
from reid_core.report.numbers import (
    ABSENT,
    count_text,
    defined_text,
    metric_name,
    metric_order,
)
from reid_core.report.plots.make import cmc_plot, histogram_plot, map_plot, roc_plot
from reid_core.report.records import Evaluation, Results

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail, Failure, Interval

#: Identities with the lowest AP that are named.
MAX_IDENTITIES = 15
#: Figures of the table with intervals; all others are in the list below it.
HEADLINES = ("mAP", "mINP", "rank1", "rank5", "rank10")

_CMC_TEXT = "Share of the queries that have a match among the first k gallery entries."
_ROC_TEXT = (
    "A pair is accepted up to a distance; each point is one such threshold. Share of the pairs of "
    "one identity that are accepted, over the share of pairs of two."
)


@dataclass(frozen=True)
class Cell:
    """A figure with its confidence interval; ``interval`` is empty where there is none."""

    value: str
    interval: str = ""


@dataclass(frozen=True)
class FigureRow:
    """One name and the figures behind it."""

    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class FailureBar:
    """A reason with its count, and the length of its bar in percent of the longest."""

    reason: str
    explanation: str
    count: str
    length: int


@dataclass(frozen=True)
class Measured:
    """A set of figures as the page shows it.

    Args:
        name: Name of the test set.
        box: How it was measured, as pairs.
        columns: Names of the headline figures.
        rows: Plain figures, and those after post-processing.
        interval_note: What the intervals are.
        variants: Names of the columns of ``others``.
        others: Every other figure.
        drawings: CMC, ROC, distances, map.
        cameras: AP by camera pair, of each variant that has it.
        identities: The worst: name, AP, queries.
        num_identities: All that are known.
        failures: By reason; empty where no first answer was wrong.
        failures_of: What the failures are of: ``plain``, or after what.
    """

    name: str
    box: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[FigureRow, ...]
    interval_note: str
    variants: tuple[str, ...]
    others: tuple[FigureRow, ...]
    drawings: tuple[Drawing, ...]
    cameras: tuple[CameraTable, ...]
    identities: tuple[tuple[str, str, str], ...]
    num_identities: str
    failures: tuple[FailureBar, ...]
    failures_of: str


def measured_sets(details: Iterable[Detail], results: Results | None) -> tuple[Measured, ...]:
    """Condense the details of evaluations, those that differ only in post-processing together.

    Args:
        details: As in ``details.json``.
        results: Says how many queries and gallery entries there were.
    """
    return tuple(_measured(one, results) for one in figure_sets(details))


def warnings_of(details: Iterable[Detail]) -> tuple[tuple[str, str], ...]:
    """Return test set and warning of each that was said, once."""
    found = ((one.dataset, warning) for one in details for warning in one.warnings)
    return tuple(dict.fromkeys(found))


def figure_cell(detail: Detail, name: str) -> Cell:
    """Return a figure of an evaluation by name, with its interval if there is one."""
    value = defined_text(name, detail.metrics[name]) if name in detail.metrics else ABSENT
    interval = detail.intervals.get(name)
    if interval is None:
        return Cell(value)
    ends = defined_text(name, interval.low), defined_text(name, interval.high)
    return Cell(value, f"{ends[0].removesuffix(' %')} to {ends[1]}")


def _measured(figures: FigureSet, results: Results | None) -> Measured:
    details, first = figures.details, figures.first
    known = {name for one in details for name in one.metrics}
    columns = [name for name in HEADLINES if name in known]
    others = sorted(known - set(columns) - {"num_queries", "num_valid_queries"}, key=metric_order)
    worst = sorted(first.identities, key=lambda one: one.ap if math.isfinite(one.ap) else math.inf)
    return Measured(
        name=figures.name,
        box=box_pairs(figures, _evaluation(first, results)),
        columns=tuple(map(metric_name, columns)),
        rows=tuple(
            FigureRow(variant_name(one), tuple(figure_cell(one, name) for name in columns))
            for one in details
        ),
        interval_note=_interval_note(details),
        variants=_short_names(details),
        others=(*_rows(details, others), *_verification_rows(details), *_open_set_rows(details)),
        drawings=tuple(_drawings(figures)),
        cameras=tuple(_cameras(details)),
        identities=tuple(
            (one.pid, defined_text("mAP", one.ap), count_text(one.num_queries))
            for one in worst[:MAX_IDENTITIES]
        ),
        num_identities=count_text(len(first.identities)),
        failures=_failure_bars(first.failures),
        failures_of=variant_name(first),
    )


def _evaluation(detail: Detail, results: Results | None) -> Evaluation | None:
    """Find the entry of ``results.json`` that a detail belongs to."""
    for one in reversed(results.evaluations if results else ()):
        if (
            one.dataset,
            one.step,
            one.protocol,
            one.distance,
            list(one.postprocessing),
        ) == (
            detail.dataset,
            detail.step,
            detail.protocol,
            detail.distance,
            list(detail.postprocessing),
        ):
            return one
    return None


def _interval_note(details: Sequence[Detail]) -> str:
    found: list[Interval] = [each for one in details for each in one.intervals.values()]
    if not found:
        return "No confidence intervals were made."
    return (
        f"Below each figure: {100 * found[0].level:g} % bootstrap interval over identities, "
        f"{count_text(found[0].num_resamples)} resamples."
    )


def _short_names(details: Sequence[Detail]) -> tuple[str, ...]:
    """Return names for narrow columns where the long ones are not needed to tell them apart."""
    if sum(bool(one.postprocessing) for one in details) > 1:
        return tuple(map(variant_name, details))
    return tuple("re-ranked" if one.postprocessing else variant_name(one) for one in details)


def _rows(details: Sequence[Detail], names: Iterable[str]) -> list[FigureRow]:
    # By the names that ``--min`` and ``results.json`` have for them.
    return [FigureRow(name, tuple(figure_cell(one, name) for one in details)) for name in names]


def _verification_rows(details: Sequence[Detail]) -> list[FigureRow]:
    """Return the figures of pairs that ``metrics`` does not hold already."""
    found: dict[str, dict[int, str]] = {}
    for place, one in enumerate(details):
        if one.verification is None:
            continue
        of = one.verification
        rates = {f"tpr@fpr={fpr}": tpr for fpr, tpr in of.tpr_at_fpr.items()}
        for name, value in {"auc": of.auc, "eer": of.eer, **rates}.items():
            if name not in one.metrics:
                found.setdefault(name, {})[place] = defined_text(name, value)
        found.setdefault("eer threshold", {})[place] = defined_text("", of.eer_threshold)
        found.setdefault("pairs of one identity", {})[place] = count_text(of.num_same)
        found.setdefault("pairs of two identities", {})[place] = count_text(of.num_different)
    return _sparse_rows(found, len(details))


def _open_set_rows(details: Sequence[Detail]) -> list[FigureRow]:
    found: dict[str, dict[int, str]] = {}
    for place, one in enumerate(details):
        if one.open_set is None:
            continue
        of = one.open_set
        found.setdefault("queries with a mate", {})[place] = count_text(of.num_mated)
        found.setdefault("queries without a mate", {})[place] = count_text(of.num_unmated)
        rates = {f"fnir@fpir={x}": y for x, y in of.fnir_at_fpir.items()}
        rates |= {f"fnmr@fmr={x}": y for x, y in of.fnmr_at_fmr.items()}
        for name, value in rates.items():
            if name not in one.metrics:
                found.setdefault(name, {})[place] = defined_text(name, value)
    return _sparse_rows(found, len(details))


def _sparse_rows(found: dict[str, dict[int, str]], count: int) -> list[FigureRow]:
    return [
        FigureRow(name, tuple(Cell(cells.get(place, ABSENT)) for place in range(count)))
        for name, cells in found.items()
    ]


def _drawings(figures: FigureSet) -> Iterable[Drawing]:
    cmc, roc = cmc_plot(figures), roc_plot(figures)
    if cmc is not None:
        yield lines_drawing(cmc, _CMC_TEXT)
    if roc is not None:
        yield lines_drawing(roc, _ROC_TEXT)
    for one in figures.details:
        histogram = histogram_plot(one)
        if histogram is not None:
            yield histogram_drawing(histogram, one.threshold.criterion if one.threshold else "")
    found = figures.first.map
    if found is not None and found.x:
        yield map_drawing(map_plot(found), found.explained)


def _cameras(details: Iterable[Detail]) -> Iterable[CameraTable]:
    for one in details:
        if one.camera_pairs is not None:
            table = camera_table(one.camera_pairs, variant_name(one))
            if table is not None:
                yield table


def _failure_bars(failures: Sequence[Failure]) -> tuple[FailureBar, ...]:
    most = max((one.count for one in failures), default=0) or 1
    return tuple(
        FailureBar(
            one.reason.replace("_", " "),
            one.explanation,
            count_text(one.count),
            round(100 * one.count / most),
        )
        for one in failures
        if one.count
    )
