"""What a check found out, as a record, as plain types and as lines of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from reid_core.data.manifest import SPLITS, Manifest, Split
from reid_core.doctor.finding import SEVERITIES, Finding, Severity, counted


@dataclass(frozen=True)
class SplitCount:
    """How much a split of a set holds.

    Args:
        dataset: The set's name.
        split: The split.
        images: Number of images.
        identities: Number of identities.
        cameras: Number of cameras; None where they are not known.
    """

    dataset: str
    split: Split
    images: int
    identities: int
    cameras: int | None


@dataclass(frozen=True)
class Report:
    """What a check found out.

    Args:
        counts: What each split of each set holds.
        notes: What the readers noted, as (data set, note).
        findings: What was noticed, errors first.
        has_looked_at_images: Whether the images were decoded.
    """

    counts: tuple[SplitCount, ...]
    notes: tuple[tuple[str, str], ...]
    findings: tuple[Finding, ...]
    has_looked_at_images: bool

    def count(self, severity: Severity) -> int:
        """Return how many findings are of one severity."""
        return sum(finding.severity == severity for finding in self.findings)

    def strict(self) -> Report:
        """Return the report with its warnings as errors."""
        return replace(
            self,
            findings=tuple(
                replace(finding, severity="error") if finding.severity == "warning" else finding
                for finding in self.findings
            ),
        )

    def plain(self) -> dict[str, object]:
        """Return it as plain types, for JSON."""
        return {
            "counts": [asdict(count) for count in self.counts],
            "notes": [{"dataset": name, "note": note} for name, note in self.notes],
            "images_decoded": self.has_looked_at_images,
            "findings": [asdict(finding) for finding in self.findings],
            **{f"{severity}s": self.count(severity) for severity in SEVERITIES},
        }

    def summary(self) -> str:
        """Say in one line how many findings there are."""
        if not self.findings:
            return "nothing found" + ("" if self.has_looked_at_images else "; no image was opened")
        found = [
            counted(self.count(severity), severity, severity if severity == "info" else None)
            for severity in SEVERITIES
            if self.count(severity)
        ]
        return ", ".join(found)


def count_splits(manifests: Sequence[Manifest]) -> Iterator[SplitCount]:
    """Count what each split of each set holds; splits that are empty are left out."""
    for manifest in manifests:
        for split in SPLITS:
            chosen = manifest.splits == split
            if not chosen.any():
                continue
            images, identities = manifest.count(split)
            cameras = len(np.unique(manifest.camids[chosen])) if manifest.has_cameras else None
            yield SplitCount(manifest.name, split, images, identities, cameras)


def in_order(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings with errors first; of one severity in the order they were found."""
    return tuple(sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity)))
