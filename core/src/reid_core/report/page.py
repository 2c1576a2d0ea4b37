"""Fill the template."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from reid_core.report.charts import Chart, charts
from reid_core.report.galleries import MAX_ROWS, GalleryRow, gallery_rows, missing_sentence
from reid_core.report.measured import Measured, measured_sets, warnings_of
from reid_core.report.records import BrokenImage, Component, Results
from reid_core.report.run_folder import RunFolder
from reid_core.report.summary import FinalRow, Headline, best_sentence, final_rows, headlines
from reid_core.report.template import fill

#: Broken images that are named on the page.
MAX_BROKEN = 20


@dataclass(frozen=True)
class Page:
    """All that the template reads; everything in it but the drawings is text yet to be escaped."""

    name: str
    state: str
    is_evaluation: bool
    status: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    headlines: tuple[Headline, ...]
    best: str
    charts: tuple[Chart, ...]
    finals: tuple[FinalRow, ...]
    protocols: tuple[tuple[str, str], ...]
    caveats: tuple[tuple[str, str], ...]
    measured: tuple[Measured, ...]
    broken: tuple[BrokenImage, ...]
    num_broken: int
    galleries: tuple[GalleryRow, ...]
    galleries_missing: str
    num_galleries_left_out: int
    components: tuple[Component, ...]
    environment: tuple[tuple[str, str], ...]
    config: str | None


def render(run: RunFolder) -> str:
    """Return the page of a run as HTML.

    The same run folder gives the same page, byte for byte.
    """
    return fill("template.html.j2", page=make_page(run))


def make_page(run: RunFolder) -> Page:
    """Condense a run folder to what its page shows."""
    results = run.results or Results(schema=1)
    rankings = run.rankings.rankings if run.rankings else ()
    finals = final_rows(results)
    galleries = gallery_rows(rankings, run.results)
    # In this field a pid is a person: the number of the process goes by another name.
    status = {
        "process" if key == "pid" else key: value
        for key, value in run.status.items()
        if key != "state" and value not in (None, "")
    }
    return Page(
        name=run.name,
        state=_text(run.status.get("state") or results.outcome or "state unknown"),
        is_evaluation=run.is_evaluation,
        status=flatten(status),
        notes=run.notes,
        headlines=headlines(results),
        best=best_sentence(results),
        # A single evaluation is a point, and no curve.
        charts=() if run.is_evaluation else charts(run.metrics, run.results),
        finals=finals,
        protocols=_protocols(results),
        caveats=_caveats(finals, run),
        measured=measured_sets(run.details, run.results),
        broken=run.broken[:MAX_BROKEN],
        num_broken=len(run.broken),
        galleries=galleries,
        galleries_missing=missing_sentence(galleries),
        num_galleries_left_out=max(0, len(rankings) - MAX_ROWS),
        components=run.components,
        environment=flatten(run.environment),
        config=run.config,
    )


def flatten(values: Mapping[str, object], prefix: str = "") -> tuple[tuple[str, str], ...]:
    """Write nested mappings as pairs of dotted key and text, in the order of the file."""
    pairs: list[tuple[str, str]] = []
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            pairs += flatten(value, f"{prefix}{key}.")
        else:
            pairs.append((f"{prefix}{key}", _text(value)))
    return tuple(pairs)


def _text(value: object) -> str:
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _protocols(results: Results) -> tuple[tuple[str, str], ...]:
    found = {
        one.protocol: one.protocol_description
        for one in results.evaluations
        if one.protocol_description
    }
    return tuple(found.items())


def _caveats(finals: Iterable[FinalRow], run: RunFolder) -> tuple[tuple[str, str], ...]:
    """Return data set and caveat of each of the final figures, once; others were of the way."""
    found = [
        (row.evaluation.dataset, caveat) for row in finals for caveat in row.evaluation.caveats
    ]
    return tuple(dict.fromkeys([*found, *warnings_of(run.details)]))
