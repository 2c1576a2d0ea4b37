"""Counts that differ from those that the authors of a set published."""

from __future__ import annotations

from collections.abc import Iterator

from reid_core.data.manifest import SPLITS, Count, Manifest, Split
from reid_core.doctor.finding import Finding

#: A split whose number of images is off by less than this part is the published one, with a fault.
_NEAR = 0.1


def is_as_published(manifest: Manifest) -> bool:
    """Say whether a set is a known one, and holds what its authors published."""
    return bool(manifest.expected) and all(
        manifest.count(split) == expected for split, expected in _expected(manifest)
    )


def check_counts(manifest: Manifest, *, is_whole: bool = True) -> Iterator[Finding]:
    """Compare the splits of a known set with the published numbers.

    Where no split is near its number, these are other data in the layout of the set.

    Args:
        manifest: The rows.
        is_whole: Whether a split without rows is one that is lost.
    """
    published = [
        (split, manifest.count(split), expected)
        for split, expected in _expected(manifest)
        if is_whole or (manifest.splits == split).any()
    ]
    if not any(
        abs(found.images - expected.images) <= _NEAR * expected.images
        for _, found, expected in published
    ):
        return
    differences = []
    for split, found, expected in published:
        if found.images != expected.images:
            differences.append(f"{split} {found.images} images, published {expected.images}")
        if found.identities != expected.identities:
            differences.append(
                f"{split} {found.identities} identities, published {expected.identities}"
            )
    if differences:
        yield Finding(
            "unexpected-counts",
            "warning",
            manifest.name,
            f"this is not the set as published: {'; '.join(differences)}",
            "check that the archive was unpacked whole, and which version it is; if these are data "
            "of your own, give them a title of their own",
            len(differences),
        )


def _expected(manifest: Manifest) -> list[tuple[Split, Count]]:
    return [(split, manifest.expected[split]) for split in SPLITS if split in manifest.expected]
