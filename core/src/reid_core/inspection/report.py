"""What a check found out, as records and as plain types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from reid_core.inspection.finding import Finding, Level, count


@dataclass(frozen=True)
class ComponentReport:
    """What was found out about one component.

    Args:
        kind: Its kind.
        name: The name a configuration uses.
        value: What its entry point says.
        status: Its status in the index.
        alias_of: The name it stands for; empty for a component itself.
        import_ms: Milliseconds its import took, beyond torch and the engine; None where it was not
            imported.
        is_checked: Whether it was looked at beyond its metadata.
        is_built: Whether an instance could be made.
        remark: Why it was not imported or not built, and the like.
        output: What its import printed.
        findings: What was noticed.
    """

    kind: str
    name: str
    value: str
    status: str
    alias_of: str = ""
    import_ms: float | None = None
    is_checked: bool = False
    is_built: bool = False
    remark: str = ""
    output: str = ""
    findings: tuple[Finding, ...] = ()

    @property
    def verdict(self) -> str:
        """``fault``, ``warning`` or ``ok``; ``skipped`` where only its metadata was looked at."""
        worst = worst_of(self.findings)
        return "skipped" if worst == "ok" and not self.is_checked else worst


@dataclass(frozen=True)
class DistributionReport:
    """What was found out about one distribution.

    Args:
        name: Its normalised name.
        version: Its version.
        source: Where it was read: the folder it is installed in, or a file.
        is_editable: Whether it is installed in editable mode.
        findings: What concerns it as a whole.
        components: Its components.
    """

    name: str
    version: str
    source: str
    is_editable: bool = False
    findings: tuple[Finding, ...] = ()
    components: tuple[ComponentReport, ...] = ()

    def every_finding(self) -> Iterator[Finding]:
        """Yield the findings of the distribution and of its components."""
        yield from self.findings
        for component in self.components:
            yield from component.findings

    def count(self, level: Level) -> int:
        """Return how many findings are of one level."""
        return count(self.every_finding(), level)

    def plain(self) -> dict[str, object]:
        """Return it as plain types, for JSON."""
        fields = asdict(self)
        for component, record in zip(self.components, fields["components"], strict=True):
            record["verdict"] = component.verdict
        return {**fields, "faults": self.count("fault"), "warnings": self.count("warning")}


def worst_of(findings: tuple[Finding, ...]) -> str:
    """Return ``fault``, ``warning`` or ``ok``; notes are no matter."""
    levels: tuple[Level, ...] = ("fault", "warning")
    return next((level for level in levels if count(findings, level)), "ok")
