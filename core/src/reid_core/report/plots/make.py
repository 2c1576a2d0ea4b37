"""Make the plots of the details of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from reid_core.report.figure_sets import FigureSet, variant_name
from reid_core.report.numbers import count_text, defined_text
from reid_core.report.plots.records import (
    BarPlot,
    Cloud,
    Curve,
    HeatPlot,
    HistogramPlot,
    LinePlot,
    Plot,
    ScatterPlot,
)

if TYPE_CHECKING:
    from reid_core.evaluation.detail import CameraPairs, Detail, EmbeddingMap, Histogram

#: Ranks that the curve shows: beyond, it is hardly ever looked at.
MAX_RANK = 50
#: Bins of a histogram; finer ones are put together.
MAX_BINS = 200
#: Identities in the map up to which each has its colour.
MAX_IDENTITIES = 8
#: Cameras a side of the table: more are not legible.
MAX_CAMERAS = 24


def cmc_plot(figures: FigureSet, *, max_rank: int = MAX_RANK) -> LinePlot | None:
    """Make the plot of the CMC; None where no evaluation has one."""
    return overlaid_cmc([(variant_name(one), one) for one in figures.details], max_rank=max_rank)


def overlaid_cmc(
    named: Sequence[tuple[str, Detail]], *, max_rank: int = MAX_RANK
) -> LinePlot | None:
    """Make a plot of the CMC of several evaluations by name; None where none has one."""
    curves = tuple(
        Curve(
            name,
            tuple(float(rank) for rank in range(1, len(one.cmc[:max_rank]) + 1)),
            tuple(one.cmc[:max_rank]),
            f"rank-1 {defined_text('rank1', one.cmc[0])}",
        )
        for name, one in named
        if one.cmc
    )
    if not curves:
        return None
    return LinePlot("cmc", "CMC", "rank k", "queries with a match", curves, is_share=True)


def roc_plot(figures: FigureSet) -> LinePlot | None:
    """Make the plot of the ROC over a logarithmic axis; None where no evaluation has one."""
    curves = []
    for one in figures.details:
        found = one.verification
        if found is None or not found.fpr or len(found.fpr) != len(found.tpr):
            continue
        rates = [
            f"TPR {defined_text('tpr', tpr)} at FPR {fpr}" for fpr, tpr in found.tpr_at_fpr.items()
        ]
        figures_text = (
            f"AUC {defined_text('auc', found.auc)}",
            f"EER {defined_text('eer', found.eer)}",
            *rates,
        )
        curves.append(
            Curve(variant_name(one), tuple(found.fpr), tuple(found.tpr), "; ".join(figures_text))
        )
    if not curves:
        return None
    return LinePlot(
        "roc",
        "ROC",
        "false positive rate",
        "true positive rate",
        tuple(curves),
        is_log=True,
        is_share=True,
    )


def histogram_plot(detail: Detail, *, max_bins: int = MAX_BINS) -> HistogramPlot | None:
    """Make the histograms of distances; None where there are none."""
    found = detail.histogram
    if found is None or len(found.edges) != len(found.same) + 1 or not found.same:
        return None
    edges, same, different = _rebinned(found, max_bins)
    is_plain = not detail.postprocessing
    return HistogramPlot(
        stem="distances" if is_plain else "distances-reranked",
        title=f"Distances, {variant_name(detail)}",
        x_label=f"{detail.distance} distance" if is_plain else "distance after post-processing",
        edges=edges,
        same=_shares(same),
        different=_shares(different),
        num_same=sum(same),
        num_different=sum(different),
        threshold=detail.threshold.value if detail.threshold else None,
    )


def camera_plot(pairs: CameraPairs, *, max_cameras: int = MAX_CAMERAS) -> HeatPlot:
    """Make the table of AP by camera pair, of the cameras with most queries."""
    rows, columns = shown_cameras(pairs, max_cameras)
    return HeatPlot(
        "cameras",
        "AP by camera pair",
        tuple(pairs.query_cameras[row] for row in rows),
        tuple(pairs.gallery_cameras[column] for column in columns),
        tuple(tuple(pairs.ap[row][column] for column in columns) for row in rows),
    )


def shown_cameras(pairs: CameraPairs, count: int = MAX_CAMERAS) -> tuple[list[int], list[int]]:
    """Return rows and columns of the table that are shown: those with most queries."""
    of_row = [sum(row) for row in pairs.num_queries]
    of_column = [sum(column) for column in zip(*pairs.num_queries, strict=True)]
    return _largest(of_row, count), _largest(of_column, count)


def failure_plot(detail: Detail) -> BarPlot | None:
    """Make the bars of failures by reason; None where no first answer was wrong."""
    if not detail.failures:
        return None
    return BarPlot(
        "failures",
        f"Failures by reason ({variant_name(detail)})",
        tuple(one.reason for one in detail.failures),
        tuple(one.count for one in detail.failures),
    )


def map_plot(found: EmbeddingMap) -> ScatterPlot:
    """Make the map: coloured by identity where there are few, otherwise by side."""
    pids = sorted(set(found.pids))
    groups: list[str | None] = [None] if len(pids) > MAX_IDENTITIES else [*pids]
    clouds = []
    for position, pid in enumerate(groups):
        for side in ("gallery", "query"):
            rows = [
                row
                for row, (of, where) in enumerate(zip(found.pids, found.sides, strict=True))
                if where == side and pid in (None, of)
            ]
            is_query = side == "query"
            clouds.append(
                Cloud(
                    f"{side if pid is None else f'{pid}, {side}'} ({count_text(len(rows))})",
                    tuple(found.x[row] for row in rows),
                    tuple(found.y[row] for row in rows),
                    tuple(found.pids[row] for row in rows),
                    int(is_query) if pid is None else position,
                    is_query,
                )
            )
    return ScatterPlot("map", "Map of embeddings", tuple(one for one in clouds if one.x))


def plots_of(figures: FigureSet) -> tuple[Plot, ...]:
    """Return every plot of a set of figures, for files."""
    first = figures.first
    cmc, roc = cmc_plot(figures, max_rank=10**9), roc_plot(figures)
    histograms = [histogram_plot(one, max_bins=10**9) for one in figures.details]
    found: list[Plot | None] = [cmc, roc, *_told_apart(histograms), failure_plot(first)]
    if first.camera_pairs is not None and first.camera_pairs.query_cameras:
        found.append(camera_plot(first.camera_pairs))
    if first.map is not None and first.map.x:
        found.append(map_plot(first.map))
    return tuple(one for one in found if one is not None)


def _told_apart(histograms: Sequence[HistogramPlot | None]) -> list[HistogramPlot]:
    """Return the histograms, each with a name of its own."""
    found = [one for one in histograms if one is not None]
    return [
        replace(one, stem=f"{one.stem}-{number}")
        if (number := [before.stem for before in found[: place + 1]].count(one.stem)) > 1
        else one
        for place, one in enumerate(found)
    ]


def _rebinned(
    found: Histogram, max_bins: int
) -> tuple[tuple[float, ...], Sequence[int], Sequence[int]]:
    per_bin = -(-len(found.same) // max_bins)
    starts = range(0, len(found.same), per_bin)
    edges = (*(found.edges[start] for start in starts), found.edges[-1])
    same = [sum(found.same[start : start + per_bin]) for start in starts]
    return edges, same, [sum(found.different[start : start + per_bin]) for start in starts]


def _shares(counts: Sequence[int]) -> tuple[float, ...]:
    total = sum(counts)
    return tuple(count / total for count in counts) if total else (0.0,) * len(counts)


def _largest(sizes: Sequence[int], count: int) -> list[int]:
    """Return the places of the largest, in their own order."""
    ordered = sorted(range(len(sizes)), key=lambda place: -sizes[place])
    return sorted(ordered[:count])
