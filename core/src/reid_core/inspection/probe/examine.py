"""The steps of a probe, in their order."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from reid_core.errors import PluginError
from reid_core.inspection.finding import Finding
from reid_core.inspection.probe.build import Built, build
from reid_core.inspection.probe.contract import class_findings
from reid_core.inspection.probe.network import NetworkWatch
from reid_core.inspection.probe_records import ProbeResult
from reid_core.inspection.signature_checks import required_parameters, signature_findings
from reid_core.plugins.component_ref import ComponentRef
from reid_core.plugins.index import PluginIndex
from reid_core.plugins.registry import Registry
from reid_core.testing.global_state import global_state

#: Settings of a process that change no number of a run.
_MILD = ("the warnings filters", "the root logger")


def examine(
    ref: ComponentRef, keep: Callable[[ProbeResult], None], output_file: Path
) -> ProbeResult:
    """Look at one component.

    Args:
        ref: The component.
        keep: Called with what is known before each step that may end the process.
        output_file: Where both streams of this process go.
    """
    network = NetworkWatch()
    keep(ProbeResult(stage="import"))
    factory, result = _load(ref, network, output_file)
    if factory is None:
        return result
    keep(result)
    faults = signature_findings(factory, ref.kind)
    result = result.with_findings((*faults, *class_findings(ref.kind, factory)))
    result = replace(result, stage="build")
    keep(result)
    built = _build(ref, factory, result.findings, network)
    result = result.with_findings(built.findings)
    return replace(result, stage="done", is_built=built.is_built, not_built=built.not_built)


def _load(
    ref: ComponentRef, network: NetworkWatch, output_file: Path
) -> tuple[Callable[..., object] | None, ProbeResult]:
    before, start, started = global_state(), len(_output(output_file)), time.perf_counter()
    try:
        # An index of this one only: another provider of its name is no matter of this probe.
        factory = Registry(ref.kind, index=PluginIndex((ref,))).get(ref.name)
    except BaseException as error:  # an import may raise anything
        message = str(error) if isinstance(error, PluginError) else _raised(error)
        findings = (Finding("fault", "load", message), *network.findings_of_import())
        return None, ProbeResult(
            stage="done", output=_output(output_file)[start:], findings=findings
        )
    return factory, ProbeResult(
        stage="signature",
        import_seconds=time.perf_counter() - started,
        output=_output(output_file)[start:],
        findings=(*_state_findings(before, global_state()), *network.findings_of_import()),
    )


def _build(
    ref: ComponentRef,
    factory: Callable[..., object],
    findings: Iterable[Finding],
    network: NetworkWatch,
) -> Built:
    if any(f.level == "fault" and f.rule in ("signature", "contract", "hook") for f in findings):
        return Built(not_built="it has faults")
    if needed := required_parameters(factory, ref.kind):
        return Built(not_built=f"needs {', '.join(needed)}")
    return build(ref, network)


def _state_findings(before: dict[str, str], after: dict[str, str]) -> tuple[Finding, ...]:
    return tuple(
        Finding(
            "warning" if name in _MILD else "fault",
            "global-state",
            f"importing it changes {name}, from {_short(before[name])} to {_short(after[name])}; "
            "an import may change nothing that other code shares: do it where it is needed, and "
            "undo it there",
        )
        for name in before
        if before[name] != after[name]
    )


def _short(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:77]}..."


def _output(file: Path) -> str:
    for stream in (sys.stdout, sys.stderr):
        # The plugin may have closed or replaced it.
        with suppress(AttributeError, ValueError, OSError):
            stream.flush()
    return file.read_text(encoding="utf-8", errors="replace")


def _raised(error: BaseException) -> str:
    return f"cannot be loaded: its import raised {type(error).__name__}: {error}"
