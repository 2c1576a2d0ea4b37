"""One thing that was noticed about a plugin."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

#: ``fault``: it does not work as it is; ``warning``: it works and will make trouble; ``note``:
#: worth knowing.
Level = Literal["fault", "warning", "note"]


@dataclass(frozen=True)
class Finding:
    """One thing that was noticed.

    Args:
        level: How bad it is.
        rule: Short name of what was looked at, such as ``naming``; the same in every version.
        message: What is wrong, what was expected, and what to type.
    """

    level: Level
    rule: str
    message: str


def count(findings: Iterable[Finding], level: Level) -> int:
    """Return how many findings are of one level."""
    return sum(finding.level == level for finding in findings)
