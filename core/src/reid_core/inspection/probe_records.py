"""What is told to a probe, and what it tells back: files, since it may die at any moment."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from reid_core.inspection.finding import Finding
from reid_core.plugins.component_ref import ComponentRef

#: How far a probe has come; the last one is reached by those that end on their own.
Stage = Literal["start", "import", "signature", "build", "done"]


@dataclass(frozen=True)
class ProbeRequest:
    """What a probe shall look at.

    Args:
        ref: The component.
        path: The ``sys.path`` with which it was found.
        timeout_seconds: How long its import and its building may take together.
    """

    ref: ComponentRef
    path: Sequence[str]
    timeout_seconds: float

    def write(self, file: Path) -> None:
        """Write it for the process of the probe."""
        file.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def read(cls, file: Path) -> ProbeRequest:
        """Read what :meth:`write` wrote."""
        fields = json.loads(file.read_text(encoding="utf-8"))
        return cls(**{**fields, "ref": ComponentRef(**fields["ref"])})


@dataclass(frozen=True)
class ProbeResult:
    """What a probe found out.

    Args:
        stage: How far it came.
        import_seconds: Time the import took, beyond torch and the engine; None if it failed.
        is_built: Whether an instance could be made.
        not_built: Why none was, where that is nobody's fault.
        output: What the import printed, on either stream.
        findings: What it noticed.
    """

    stage: Stage = "start"
    import_seconds: float | None = None
    is_built: bool = False
    not_built: str = ""
    output: str = ""
    findings: tuple[Finding, ...] = field(default_factory=tuple)

    def with_findings(self, findings: Sequence[Finding]) -> ProbeResult:
        """Return it with further findings."""
        return replace(self, findings=(*self.findings, *findings))

    def write(self, file: Path) -> None:
        """Write it in one step, so that it is never read half."""
        draft = file.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self)), encoding="utf-8")
        draft.replace(file)

    @classmethod
    def read(cls, file: Path) -> ProbeResult:
        """Read what :meth:`write` wrote last; the beginning where nothing was written."""
        if not file.is_file():
            return cls()
        fields: Mapping[str, object] = json.loads(file.read_text(encoding="utf-8"))
        findings = fields["findings"]
        assert isinstance(findings, list)
        return cls(**{**fields, "findings": tuple(Finding(**one) for one in findings)})  # type: ignore[arg-type]
