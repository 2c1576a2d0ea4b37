"""Write ``comparison.html``: several runs beside each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reid_core.errors import DataError, UsageError
from reid_core.report.drawings import Drawing, lines_drawing
from reid_core.report.figure_sets import variant_name
from reid_core.report.measured import HEADLINES, Cell, figure_cell
from reid_core.report.numbers import ABSENT, metric_name
from reid_core.report.pairing import PairKey, by_pair_key
from reid_core.report.plots.make import overlaid_cmc
from reid_core.report.run_folder import RunFolder, read_run_folder
from reid_core.report.template import fill
from reid_core.report.write import write_page

if TYPE_CHECKING:
    from reid_core.evaluation.detail import Detail

FILE_NAME = "comparison.html"


@dataclass(frozen=True)
class RunRow:
    """A run in one set of figures.

    Args:
        run: Its name.
        how: Distance and features, and the re-ranking where runs differ in it.
        cells: Headline figures.
        difference: Of mAP to the first run; empty for that one.
        interval: Of the difference.
        p_value: Chance of such a difference between runs that are equally good.
        problem: Why there is no test; empty where there is one.
    """

    run: str
    how: str
    cells: tuple[Cell, ...]
    difference: str = ""
    interval: str = ""
    p_value: str = ""
    problem: str = ""


@dataclass(frozen=True)
class ComparedSet:
    """One set of figures in every run that has it."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[RunRow, ...]
    drawing: Drawing | None


def write_comparison(runs: Sequence[Path], target: Path) -> Path:
    """Make a page that sets runs beside each other, and says what may be chance.

    Every run is compared with the first, on the test sets and protocols that both have, plain
    figures with plain ones and re-ranked with re-ranked ones; see :func:`by_pair_key`. Whether a
    difference of mAP is more than chance is tested query by query.

    Args:
        runs: At least two folders with a ``details.json``, or such files themselves.
        target: The page, or a folder for ``comparison.html``.

    Returns:
        The path of the page.

    Raises:
        UsageError: Fewer than two runs, or one is no folder.
        DataError: A run has no readable ``details.json``.
        ReidError: The page cannot be written.
    """
    if len(runs) < 2:
        raise UsageError(f"cannot compare {len(runs)} run; expected two or more run folders")
    folders = [_read(path) for path in runs]
    names = run_names(runs)
    page = fill("comparison.html.j2", names=names, sets=compared_sets(names, folders))
    return write_page(target / FILE_NAME if target.is_dir() else target, page)


def run_names(runs: Sequence[Path]) -> tuple[str, ...]:
    """Return the shortest ends of the paths that tell the runs apart."""
    paths = [_folder(path).resolve() for path in runs]
    for length in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-length:]) for path in paths]
        if len(set(names)) == len(names):
            return tuple(names)
    return tuple(f"{path.name} ({place})" for place, path in enumerate(paths, start=1))


def compared_sets(names: Sequence[str], folders: Sequence[RunFolder]) -> tuple[ComparedSet, ...]:
    """Put the figures of runs together that were measured alike.

    Args:
        names: Names of the runs, all different.
        folders: The runs, the one first that the others are compared with.
    """
    by_run = [by_pair_key(folder.details) for folder in folders]
    keys = dict.fromkeys(key for found in by_run for key in found)
    made = []
    rules: dict[tuple[str, str], set[str]] = {}
    for key in keys:
        rules.setdefault((key.dataset, key.protocol), set()).add(key.rule)
    for key in keys:
        found = {n: own[key] for n, own in zip(names, by_run, strict=True) if key in own}
        rule = f" ({key.rule})" if len(rules[key.dataset, key.protocol]) > 1 else ""
        made.append(_compared(key, rule, found, has_first=key in by_run[0]))
    return tuple(made)


def _folder(path: Path) -> Path:
    return path.parent if path.name == "details.json" else path


def _read(path: Path) -> RunFolder:
    folder = _folder(path)
    if not folder.is_dir():
        raise UsageError(
            f"cannot compare {path}: it is not a folder; expected a run folder, or one that "
            "reid-eval --output wrote"
        )
    found = read_run_folder(folder)
    if not found.details:
        why = next(
            (note for note in found.notes if note.startswith("details.json")), "it is empty."
        )
        raise DataError(
            f"cannot compare {path}: {why} Expected a details.json with at least one evaluation; "
            "reid-eval --output writes one, and so does a run with evaluate.details=true"
        )
    return found


def _compared(
    key: PairKey, rule: str, found: Mapping[str, Detail], *, has_first: bool
) -> ComparedSet:
    known = {name for one in found.values() for name in one.metrics}
    columns = [name for name in HEADLINES if name in known]
    first = next(iter(found.values()))
    plot = overlaid_cmc(list(found.items()))
    text = "Share of the queries that have a match among the first k gallery entries."
    variants = {variant_name(one) for one in found.values()}
    variant = variants.pop() if len(variants) == 1 else "re-ranked"
    return ComparedSet(
        name=f"{key.dataset}, protocol {key.protocol}{rule}, {variant}"
        + (f" ({key.number + 1})" if key.number else ""),
        columns=tuple(map(metric_name, columns)),
        rows=tuple(
            _row(
                run,
                one,
                columns,
                None if one is first else first,
                has_first=has_first,
                is_told=variant == "re-ranked",
            )
            for run, one in found.items()
        ),
        drawing=None if plot is None else lines_drawing(plot, text),
    )


def _row(
    run: str,
    one: Detail,
    columns: Sequence[str],
    first: Detail | None,
    *,
    has_first: bool,
    is_told: bool,
) -> RunRow:
    parts = [f"{one.distance} distance", one.features, variant_name(one) if is_told else ""]
    how = ", ".join(filter(None, parts))
    cells = tuple(figure_cell(one, name) for name in columns)
    if first is None:
        return RunRow(run, how, cells)
    if not has_first:
        return RunRow(run, how, cells, problem="the first run was not measured so")
    return RunRow(run, how, cells, **_test(first, one))


def _test(first: Detail, one: Detail) -> dict[str, str]:
    """Return the fields of a row that a paired test gives."""
    # Imported here: it needs torch by way of its package.
    from reid_core.evaluation.metrics.comparison import compare_runs

    if not first.ap or not one.ap:
        return {"problem": "AP by query was not recorded"}
    try:
        found = compare_runs(first.ap, one.ap, first.query_pids, one.query_pids)
    except DataError as error:
        return {"problem": str(error)}
    low, high = (f"{100 * end:+.1f}" for end in (found.interval.low, found.interval.high))
    return {
        "difference": f"{100 * found.difference:+.1f} points",
        "interval": f"{low} to {high}",
        "p_value": _p_text(found.p_value),
    }


def _p_text(value: float) -> str:
    if not math.isfinite(value):
        return ABSENT
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
