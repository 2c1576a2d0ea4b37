"""``reid-data check``: what is wrong with a data set, found before anything is trained."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.cli.data.source import (
    OpenedSource,
    SourceArguments,
    open_source,
    read_components,
    source_options,
)
from reid_core.errors import DataError

if TYPE_CHECKING:
    from reid_core.doctor.finding import Finding
    from reid_core.doctor.report import Report

_COLOURS = {"error": "red", "warning": "yellow", "info": "cyan"}


@click.command("check", context_settings=CONTEXT)
@source_options
@click.option("--no-images", is_flag=True, help="Look at labels and files only; open no image.")
@click.option("--no-near-duplicates", is_flag=True, help="Do not compare images that look alike.")
@click.option("--strict", is_flag=True, help="Take warnings for errors.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@reports_errors
def check_command(
    source: SourceArguments,
    no_images: bool,
    no_near_duplicates: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Say what is wrong with data sets: labels, files, images, duplicates.

    Each finding has examples and says what to do. Exit code 3 when there is an error.
    """
    # Imported here: the other commands of the group do without.
    from reid_core.doctor.examine import examine

    opened = open_source(source)
    manifests = read_components(opened)
    uses_cameras, pools = _rule(opened)
    report = examine(
        manifests,
        uses_cameras=uses_cameras,
        pools=pools,
        looks_at_images=not no_images,
        looks_for_near_copies=not no_near_duplicates,
    )
    if strict:
        report = report.strict()
    if as_json:
        click.echo(json.dumps({"schema": 1, **report.plain()}, indent=2, ensure_ascii=False))
    else:
        for line in _lines(report):
            click.echo(line)
    return DataError.exit_code if report.count("error") else 0


def _rule(opened: OpenedSource) -> tuple[bool, bool]:
    """Say whether the recipe's protocol looks at cameras, and whether it pools the two sides."""
    if opened.config is None:
        return True, False
    from reid_core.engine.evaluation.parts import build_protocol
    from reid_core.plugins.index import disabled_plugins

    with disabled_plugins(opened.config.plugins.disable):
        protocol = build_protocol(opened.config)
    return protocol.needs_cameras, protocol.pools


def _lines(report: Report) -> Iterator[str]:
    from reid_core.doctor.finding import counted

    for count in report.counts:
        cameras = "cameras not known" if count.cameras is None else counted(count.cameras, "camera")
        yield (
            f"{count.dataset}: {count.split} {counted(count.images, 'image')} of "
            f"{counted(count.identities, 'identity', 'identities')}, {cameras}"
        )
    for name, note in report.notes:
        yield f"{name}: note: {note}"
    for finding in report.findings:
        yield ""
        yield from _finding(finding)
    yield ""
    yield report.summary()


def _finding(finding: Finding) -> Iterator[str]:
    severity = finding.severity
    # Colours are left out by themselves where the output is no terminal.
    label = click.style(severity, fg=_COLOURS[severity], bold=True)
    yield f"{label} {finding.code}: {finding.dataset}: {finding.message}"
    for example in finding.examples:
        yield f"    {example}"
    more = finding.count - len(finding.examples)
    if finding.examples and more > 0:
        yield f"    and {more} more"
    yield f"  -> {finding.advice}"
