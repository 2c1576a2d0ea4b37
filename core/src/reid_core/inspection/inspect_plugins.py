"""The whole check: metadata, a probe for each component, a report for each distribution."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import PurePosixPath

from reid_core.config.recipes import SUFFIXES
from reid_core.inspection.declared_checks import alias_fault, name_fault
from reid_core.inspection.finding import Finding
from reid_core.inspection.installed_dist import read_environment
from reid_core.inspection.probe_records import ProbeResult
from reid_core.inspection.probe_runner import probe_all
from reid_core.inspection.recipe_checks import recipe_findings, recipes_of
from reid_core.inspection.report import ComponentReport, DistributionReport
from reid_core.inspection.subject import (
    Installation,
    Subject,
    find_subject,
    installed_subject,
)
from reid_core.plugins.component_ref import KINDS, ComponentRef
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.refusals import joined
from reid_core.plugins.switches import DISABLE_PLUGINS, NO_PLUGINS
from reid_core.progress import track

#: How much of what an import prints is told again.
_MAX_OUTPUT = 2000


def inspect_plugins(
    targets: Sequence[str], *, timeout_seconds: float
) -> tuple[DistributionReport, ...]:
    """Check distributions; also those that a switch leaves out.

    Args:
        targets: Their names, project folders, wheels or sdists; everything installed that provides
            something, where there are none.
        timeout_seconds: How long the import and the building of one component may take together.

    Raises:
        UsageError: A target does not exist, or cannot be read.
    """
    with _without_switches():
        return _inspect(targets, timeout_seconds)


@contextmanager
def _without_switches() -> Iterator[None]:
    """Switch nothing off, neither here, where recipes are loaded, nor in the probes."""
    names = [name for name in (NO_PLUGINS, DISABLE_PLUGINS) if name in os.environ]
    values = {name: os.environ.pop(name) for name in names}
    try:
        yield
    finally:
        os.environ.update(values)


def _inspect(targets: Sequence[str], timeout_seconds: float) -> tuple[DistributionReport, ...]:
    installation = Installation(read_environment(), PluginIndex.scan(switches=()))
    if targets:
        subjects = [find_subject(target, installation) for target in dict.fromkeys(targets)]
    else:
        subjects = [installed_subject(n, installation) for n in installation.plugin_names()]
    refs = [ref for subject in subjects for ref in subject.refs if _is_probed(subject, ref)]
    refs = list(dict.fromkeys(refs))
    # Closed at once when it is interrupted: it holds processes.
    with closing(probe_all(refs, timeout_seconds=timeout_seconds)) as probes:
        results = dict(track(probes, total=len(refs), description="checking components"))
    return tuple(_report(subject, results, installation.index) for subject in subjects)


def _is_probed(subject: Subject, ref: ComponentRef) -> bool:
    is_code = ref.kind in KINDS and ref.kind != "recipes"
    return subject.is_installed and is_code and not ref.alias_of and ref.status in _USABLE


#: A component in conflict is still reached by its qualified name.
_USABLE = ("ok", "conflict")


def _report(
    subject: Subject, results: Mapping[ComponentRef, ProbeResult], index: PluginIndex
) -> DistributionReport:
    lost = [r for r in subject.refs if r.kind not in KINDS and r.alias_of]
    return DistributionReport(
        name=subject.name,
        version=subject.version,
        source=subject.source,
        is_editable=subject.is_editable,
        findings=(*subject.findings, *(alias_fault(ref.detail) for ref in lost)),
        components=tuple(
            _component(subject, ref, results.get(ref), index)
            for ref in subject.refs
            if ref.kind in KINDS
        ),
    )


def _component(
    subject: Subject, ref: ComponentRef, result: ProbeResult | None, index: PluginIndex
) -> ComponentReport:
    report = ComponentReport(
        kind=ref.kind,
        name=ref.name,
        value=ref.value,
        status=ref.status,
        alias_of=ref.alias_of,
        findings=_static_findings(subject, ref),
    )
    if result is not None:
        return _with_result(report, result)
    if ref.status not in _USABLE:
        return replace(report, remark=ref.detail if ref.status != "bad-metadata" else "")
    if ref.alias_of:
        return replace(report, is_checked=True, remark=f"stands for {ref.alias_of}")
    if subject.archive is not None:
        return replace(report, remark="of a file only the metadata is read")
    if not subject.is_installed:
        return replace(report, remark="not installed, so only its metadata was read")
    # What is installed, usable and was not probed are recipes.
    count = len(recipes_of(ref))
    return replace(
        report,
        is_checked=True,
        remark="1 recipe" if count == 1 else f"{count} recipes",
        findings=(*report.findings, *recipe_findings(ref, index)),
    )


def _with_result(report: ComponentReport, result: ProbeResult) -> ComponentReport:
    seconds = result.import_seconds
    return replace(
        report,
        import_ms=None if seconds is None else round(seconds * 1000, 1),
        is_checked=True,
        is_built=result.is_built,
        remark=f"not built: {result.not_built}" if result.not_built else "",
        output=result.output[:_MAX_OUTPUT],
        findings=(*report.findings, *_output_findings(result), *result.findings),
    )


def _static_findings(subject: Subject, ref: ComponentRef) -> tuple[Finding, ...]:
    found = []
    if fault := name_fault(ref.name):
        found.append(Finding("fault", "naming", fault))
    if ref.status == "bad-metadata":
        rule = "alias" if ref.alias_of else "entry-point"
        mend = f"mend the entry point {ref.name!r}, and install it again"
        found.append(Finding("fault", rule, f"cannot be used: {joined(ref.detail, mend)}"))
    elif ref.status == "conflict":
        found.append(
            Finding(
                "fault",
                "conflict",
                f"its name alone does not work: {ref.detail}; rename it, or uninstall the other",
            )
        )
    elif subject.archive is not None and (missing := _missing_module(ref, subject)):
        found.append(Finding("fault", "entry-point", missing))
    return tuple(found)


def _missing_module(ref: ComponentRef, subject: Subject) -> str:
    """Say that a built distribution lacks what an entry point names; empty when it has it."""
    assert subject.archive is not None
    files = subject.archive.files
    path = ref.value.partition(":")[0].replace(".", "/")
    if not any(name.startswith(f"{path.partition('/')[0]}/") for name in files):
        return ""  # a module of another distribution
    if ref.kind == "recipes":
        shipped = [name for name in files if name.startswith(f"{path}/")]
        has_some = any(PurePosixPath(name).suffix in SUFFIXES for name in shipped)
        return "" if has_some else f"there is no recipe in {path}/ of {subject.source}"
    if f"{path}.py" in files or f"{path}/__init__.py" in files:
        return ""
    return f"{subject.source} holds neither {path}.py nor {path}/__init__.py, which it names"


def _output_findings(result: ProbeResult) -> tuple[Finding, ...]:
    lines = result.output.strip().splitlines()
    if not lines or result.import_seconds is None:
        return ()  # of a failed import the error is told, which says more
    return (
        Finding(
            "warning",
            "import-output",
            f"prints {lines[0][:120]!r} when it is imported; leave it out, or log it: "
            "logging.getLogger(__name__).debug(…)",
        ),
    )
