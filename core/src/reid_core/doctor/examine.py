"""The whole examination: labels, files, and what the images show."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reid_core.data.manifest import Manifest
from reid_core.doctor.boxes import check_boxes, check_edges
from reid_core.doctor.cameras import check_cameras
from reid_core.doctor.counts import check_counts
from reid_core.doctor.duplicates import check_duplicates
from reid_core.doctor.files import check_listed_twice, check_missing, listings_of
from reid_core.doctor.finding import Finding
from reid_core.doctor.formats import check_blank, check_broken, check_formats
from reid_core.doctor.identities import (
    check_gaps,
    check_junk,
    check_overlap,
    check_spelling,
    check_training,
    check_written_numbers,
)
from reid_core.doctor.near_duplicates import check_near_duplicates
from reid_core.doctor.queries import check_queries
from reid_core.doctor.report import Report, count_splits, in_order
from reid_core.doctor.row_labels import RowLabels
from reid_core.doctor.scan import Scan, scan_images
from reid_core.doctor.shared_files import check_shared_files
from reid_core.doctor.sizes import check_sizes
from reid_core.doctor.strays import check_strays


def examine(
    manifests: Sequence[Manifest],
    *,
    uses_cameras: bool = True,
    pools: bool = False,
    looks_at_images: bool = True,
    looks_for_near_copies: bool = True,
) -> Report:
    """Look for everything that may be wrong with some data sets.

    Args:
        manifests: The sets, whole, each with a name of its own.
        uses_cameras: Whether they are evaluated by a protocol that leaves out matches in the
            query's own camera.
        pools: Whether that protocol makes one pool of query and gallery.
        looks_at_images: Whether every image is read and decoded.
        looks_for_near_copies: Whether images that look alike are compared then.
    """
    findings: list[Finding] = []
    for manifest in manifests:
        findings += check_labels(manifest, uses_cameras=uses_cameras, pools=pools)
    if looks_at_images:
        scan = scan_images(manifests, keeps_thumbnails=looks_for_near_copies)
        findings += check_images(scan)
    else:
        # Copies are found by their pixels, wherever they lie.
        findings += check_shared_files(manifests)
    return Report(
        counts=tuple(count_splits(manifests)),
        notes=tuple((manifest.name, note) for manifest in manifests for note in manifest.notes),
        findings=in_order(findings),
        has_looked_at_images=looks_at_images,
    )


def check_labels(
    manifest: Manifest, *, uses_cameras: bool, pools: bool = False
) -> Iterator[Finding]:
    """Find what the columns of a set and a listing of its folders tell.

    Args:
        manifest: The whole set.
        uses_cameras: As in :func:`examine`.
        pools: As in :func:`examine`.
    """
    listings = listings_of(manifest)
    yield from check_counts(manifest)
    yield from check_missing(manifest, listings)
    yield from check_boxes(manifest)
    yield from check_listed_twice(manifest)
    yield from check_strays(manifest, listings)
    yield from check_spelling(manifest)
    yield from check_written_numbers(manifest)
    yield from check_junk(manifest)
    yield from check_gaps(manifest)
    yield from check_overlap(manifest)
    yield from check_queries(manifest, uses_cameras=uses_cameras, pools=pools)
    yield from check_training(manifest)
    yield from check_cameras(manifest)


def check_images(scan: Scan) -> Iterator[Finding]:
    """Find what the content of the images tells.

    Args:
        scan: The images of all sets.
    """
    for manifest, start in scan.sets():
        stop = start + len(manifest)
        facts = scan.facts[start:stop]
        faults = {row - start: fault for row, fault in scan.faults.items() if start <= row < stop}
        yield from check_broken(manifest, faults)
        yield from check_formats(manifest, facts)
        yield from check_blank(manifest, facts)
        yield from check_sizes(manifest, facts)
        yield from check_edges(manifest, facts)
    labels = RowLabels.of(scan.manifests)
    yield from check_duplicates(scan, labels)
    yield from check_near_duplicates(scan, labels)
