"""Fill the template."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files

from jinja2 import Environment, StrictUndefined

from reid_core.report.charts import Chart, charts
from reid_core.report.galleries import MAX_ROWS, GalleryRow, gallery_rows
from reid_core.report.records import Component, Results
from reid_core.report.run_folder import RunFolder
from reid_core.report.summary import FinalRow, Headline, best_sentence, final_rows, headlines


@dataclass(frozen=True)
class Page:
    """All that the template reads; everything in it but the drawings is text yet to be escaped."""

    name: str
    state: str
    status: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    headlines: tuple[Headline, ...]
    best: str
    charts: tuple[Chart, ...]
    finals: tuple[FinalRow, ...]
    protocols: tuple[tuple[str, str], ...]
    caveats: tuple[tuple[str, str], ...]
    galleries: tuple[GalleryRow, ...]
    num_galleries_left_out: int
    components: tuple[Component, ...]
    environment: tuple[tuple[str, str], ...]
    config: str | None


def render(run: RunFolder) -> str:
    """Return the page of a run as HTML.

    The same run folder gives the same page, byte for byte.
    """
    source = files("reid_core.report").joinpath("template.html.j2").read_text(encoding="utf-8")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return environment.from_string(source).render(page=make_page(run))


def make_page(run: RunFolder) -> Page:
    """Condense a run folder to what its page shows."""
    results = run.results or Results(schema=1)
    rankings = run.rankings.rankings if run.rankings else ()
    status = {key: value for key, value in run.status.items() if key != "state"}
    return Page(
        name=run.name,
        state=_text(run.status.get("state") or results.outcome or "state unknown"),
        status=flatten(status),
        notes=run.notes,
        headlines=headlines(results),
        best=best_sentence(results),
        charts=charts(run.metrics, run.results),
        finals=final_rows(results),
        protocols=_protocols(results),
        caveats=_caveats(results),
        galleries=gallery_rows(rankings, run.results),
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


def _caveats(results: Results) -> tuple[tuple[str, str], ...]:
    """Return data set and caveat of each that was said, once."""
    pairs = ((one.dataset, caveat) for one in results.evaluations for caveat in one.caveats)
    return tuple(dict.fromkeys(pairs))
