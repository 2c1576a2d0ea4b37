"""``reid-plugins check``: what is wrong with plugins, found out without a run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from reid_core.cli.common import CONTEXT, reports_errors
from reid_core.plugins.component_ref import singular

if TYPE_CHECKING:
    from reid_core.inspection.finding import Finding, Level
    from reid_core.inspection.report import ComponentReport, DistributionReport


@click.command("check", context_settings=CONTEXT)
@click.argument("targets", metavar="[DIST|PATH]...", nargs=-1)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.option(
    "--timeout",
    metavar="SECONDS",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    help="How long importing and building one component may take (default 60).",
)
@reports_errors
def check_command(targets: tuple[str, ...], as_json: bool, timeout: float) -> int:
    """Say what is wrong with plugins.

    Without arguments everything installed is checked. DIST is an installed distribution; PATH a
    project folder, a wheel or an sdist. Each component is imported in a process of its own. Exit
    code 1 when there is a fault.
    """
    # Imported here: the other commands of the group do without.
    from reid_core.inspection.inspect_plugins import inspect_plugins

    reports = inspect_plugins(targets, timeout_seconds=timeout)
    if as_json:
        plain = {"schema": 1, "distributions": [report.plain() for report in reports]}
        click.echo(json.dumps(plain, indent=2))
    else:
        for line in _lines(reports):
            click.echo(line)
    return 1 if any(report.count("fault") for report in reports) else 0


def _lines(reports: Sequence[DistributionReport]) -> Iterator[str]:
    components = [component for report in reports for component in report.components]
    width = max((len(_name(component)) for component in components), default=0)
    for report in reports:
        editable = ", editable" if report.is_editable else ""
        yield f"{report.name} {report.version}".rstrip() + f"{editable}, {report.source}"
        yield from _finding_lines(report.findings, "  ")
        for component in report.components:
            yield _component_line(component, width)
            yield from _finding_lines(component.findings, "           ")
    yield ", ".join(
        [
            _counted(len(reports), "distribution"),
            _counted(len(components), "component"),
            *(_counted(_total(reports, level), level) for level in ("fault", "warning")),
        ]
    )


def _component_line(component: ComponentReport, width: int) -> str:
    took = "" if component.import_ms is None else f"{component.import_ms:.0f} ms"
    line = f"  {component.verdict:7}  {_name(component):{width}}  {took:>7}  {component.remark}"
    return line.rstrip()


def _finding_lines(findings: Sequence[Finding], indent: str) -> Iterator[str]:
    for finding in findings:
        first, *more = f"{finding.level}: {finding.message}".splitlines()
        yield f"{indent}{first}"
        yield from (f"{indent}  {line}" for line in more)


def _name(component: ComponentReport) -> str:
    return f"{singular(component.kind)} {component.name}"


def _total(reports: Sequence[DistributionReport], level: Level) -> int:
    return sum(report.count(level) for report in reports)


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"
