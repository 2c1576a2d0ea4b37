"""The short form before each run: what labels and a listing of the folders tell in a moment."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from reid_core.data.manifest import Manifest
from reid_core.doctor.boxes import check_boxes
from reid_core.doctor.counts import check_counts
from reid_core.doctor.files import check_listed_twice, check_missing, listings_of
from reid_core.doctor.finding import Finding, Severity, named
from reid_core.doctor.identities import check_junk, check_spelling
from reid_core.doctor.listing import Listings
from reid_core.doctor.queries import check_queries
from reid_core.doctor.shared_files import check_shared_files
from reid_core.errors import DataError

log = logging.getLogger("reid_core")

_LEVELS = {"warning": logging.WARNING, "info": logging.INFO}

#: Examples in a line of the log.
_MAX_EXAMPLES = 3


def check_before_run(
    manifests: Sequence[Manifest], *, uses_cameras: bool, skips_broken: bool, pools: bool = False
) -> None:
    """Log what is wrong with the data of a run.

    Args:
        manifests: The rows that the run reads, those of training and of test apart.
        uses_cameras: Whether the protocol leaves out matches in the query's own camera.
        skips_broken: Whether the run goes on without images that cannot be read.
        pools: Whether the protocol makes one pool of query and gallery.

    Raises:
        DataError: Something would stop the run, or leave nothing to measure; all of it is said.
    """
    findings = quick(manifests, uses_cameras=uses_cameras, skips_broken=skips_broken, pools=pools)
    log_findings(findings)
    errors = [as_line(finding) for finding in findings if finding.severity == "error"]
    if errors:
        raise DataError("\n".join(errors))
    if findings:
        log.info("'reid-data check' says more, and looks at the images")


def quick(
    manifests: Sequence[Manifest], *, uses_cameras: bool, skips_broken: bool, pools: bool = False
) -> list[Finding]:
    """Look for what can be found in a second or two, in a million rows.

    What the sets and the evaluation say themselves is left out: identities that are both in
    training and in the test, queries that are skipped, cameras that are not known.

    Args:
        manifests: As in :func:`check_before_run`.
        uses_cameras: As in :func:`check_before_run`.
        skips_broken: As in :func:`check_before_run`.
        pools: As in :func:`check_before_run`.

    Returns:
        Errors and warnings.
    """
    missing: Severity = "warning" if skips_broken else "error"
    # Training and test of one set are below one root: its folders are listed once.
    known: dict[Path, Listings | None] = {}
    findings: list[Finding] = []
    for manifest in manifests:
        listings = listings_of(manifest)
        if manifest.store is None:
            listings = known.setdefault(manifest.root, listings)
        findings += _of_set(
            manifest, listings, missing=missing, uses_cameras=uses_cameras, pools=pools
        )
    findings += check_shared_files(manifests)
    return findings


def log_findings(findings: Iterable[Finding]) -> None:
    """Log warnings as warnings and what is worth knowing as information; errors are raised."""
    for finding in findings:
        if finding.severity != "error":
            log.log(_LEVELS[finding.severity], "%s", as_line(finding))


def as_line(finding: Finding) -> str:
    """Return a finding as one line, with the first examples."""
    examples = finding.examples[:_MAX_EXAMPLES]
    shown = f" ({named(examples, finding.count)})" if examples else ""
    return f"data set {finding.dataset}: {finding.message}{shown}; {finding.advice}"


def _of_set(
    manifest: Manifest,
    listings: Listings | None,
    *,
    missing: Severity,
    uses_cameras: bool,
    pools: bool,
) -> Iterator[Finding]:
    yield from check_counts(manifest, is_whole=False)
    yield from check_missing(manifest, listings, severity=missing)
    yield from check_boxes(manifest)
    yield from check_listed_twice(manifest)
    yield from check_spelling(manifest)
    yield from check_junk(manifest)
    for finding in check_queries(manifest, uses_cameras=uses_cameras, pools=pools):
        # A set without query or gallery has been refused; skipped queries the evaluation counts.
        if finding.code == "no-valid-query":
            yield finding
