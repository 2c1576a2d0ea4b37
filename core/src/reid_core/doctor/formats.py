"""Images that cannot be read, and images that are kept in another way than the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import Manifest
from reid_core.data.stores import FolderStore
from reid_core.doctor.finding import Finding, are_few, counted, some
from reid_core.doctor.image_facts import FORMAT_NAMES, FORMATS, KINDS
from reid_core.doctor.scan import Fault

#: What the reader makes of each kind.
_MADE_OF = {
    "colour": "they are read as they are",
    "grey": "they are read as grey in three channels",
    "alpha": "the alpha channel is dropped, and what was transparent shows its hidden colour",
    "palette": "the palette is looked up",
    "CMYK": "they are converted to RGB, without their colour profile",
    "16-bit": "the upper 8 of 16 bits are kept",
    "1-bit": "on becomes 255 and off 0",
    "animated": "the first frame is read",
}


def check_broken(manifest: Manifest, faults: Mapping[int, Fault]) -> Iterator[Finding]:
    """Find images that cannot be read; files that are not there are found by their folders.

    Args:
        manifest: The rows.
        faults: Why, by row of the manifest.
    """
    if isinstance(manifest.images, FolderStore):
        faults = {row: fault for row, fault in faults.items() if not fault.is_missing}
    if faults:
        yield Finding(
            "broken-images",
            "error",
            manifest.name,
            f"{counted(len(faults), 'image')} of {len(manifest)} cannot be read",
            "repair or remove them, or set data.broken_images=skip to train without them",
            len(faults),
            some(f"{manifest.paths[row]}: {fault.reason}" for row, fault in faults.items()),
        )


def check_formats(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    """Find images whose file is not what its name says, or is kept in another way than the rest.

    Args:
        manifest: The rows.
        facts: What their images are.
    """
    yield from _suffixes(manifest, facts)
    yield from _cut(manifest, facts)
    yield from _kinds(manifest, facts)
    yield from _orientations(manifest, facts)


def check_blank(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    """Find images of a single colour."""
    blank = np.flatnonzero(facts["is_read"] & facts["is_blank"])
    if len(blank):
        yield Finding(
            "blank-images",
            "warning",
            manifest.name,
            f"{counted(len(blank), 'image is', 'images are')} of a single colour",
            "take them out: they show nobody",
            len(blank),
            some(manifest.paths[blank]),
        )


def _suffixes(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    if not isinstance(manifest.images, FolderStore):
        return  # a packed image is called what its file was called, whatever became of it
    wrong = []
    for code, name in enumerate(FORMAT_NAMES):
        rows = np.flatnonzero(facts["is_read"] & (facts["format"] == code))
        if name not in FORMATS or not len(rows):
            continue
        suffixes = {*FORMATS[name], ""}
        wrong += [
            (int(row), name)
            for row, path in zip(rows, manifest.paths[rows].tolist(), strict=True)
            if PurePosixPath(path).suffix.lower() not in suffixes
        ]
    if wrong:
        yield Finding(
            "wrong-suffix",
            "warning",
            manifest.name,
            f"{counted(len(wrong), 'file')} of another format than the name says",
            "rename them; this project reads the content, other programs go by the name",
            len(wrong),
            some(f"{manifest.paths[row]} is {name}" for row, name in sorted(wrong)),
        )


def _cut(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    rows = np.flatnonzero(facts["is_read"] & facts["is_cut"])
    if len(rows):
        yield Finding(
            "cut-images",
            "warning",
            manifest.name,
            f"{counted(len(rows), 'file ends', 'files end')} before the end of the image",
            "copy them anew from where they came from; the lower part may be missing",
            len(rows),
            some(manifest.paths[rows]),
        )


def _kinds(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    # Infrared images are grey, and a set says so.
    looked_at = facts["is_read"] & ~facts["is_blank"] & ~_is_infrared(manifest)
    numbers = np.bincount(facts["kind"][looked_at], minlength=len(KINDS))
    total, usual = int(numbers.sum()), int(numbers.argmax())
    for code, kind in enumerate(KINDS):
        number = int(numbers[code])
        if not number or code == usual:
            continue
        few = are_few(number, total)
        rows = np.flatnonzero(looked_at & (facts["kind"] == code))
        yield Finding(
            f"{kind.lower()}-images",
            "warning" if few else "info",
            manifest.name,
            f"{counted(number, 'image is', 'images are')} {kind} in a set of {KINDS[usual]} "
            f"images ({numbers[usual]} of {total}): {_MADE_OF[kind]}",
            f"look at {'them' if number > 1 else 'it'}; save {'them' if number > 1 else 'it'} like "
            "the others unless that is meant"
            if few
            else "nothing has to be done if that is how the set was taken",
            number,
            some(manifest.paths[rows]),
        )


def _orientations(manifest: Manifest, facts: NDArray[np.void]) -> Iterator[Finding]:
    is_turned = facts["is_read"] & (facts["orientation"] != 1)
    total, number = int(facts["is_read"].sum()), int(is_turned.sum())
    if number:
        few = are_few(number, total)
        yield Finding(
            "turned-images",
            "warning" if few else "info",
            manifest.name,
            f"{counted(number, 'image is', 'images are')} turned or mirrored by an EXIF tag, which "
            "is applied when they are read",
            "check that they stand upright in 'reid-data preview'; boxes have to be those of the "
            "upright image",
            number,
            some(
                f"{manifest.paths[row]} (orientation {facts['orientation'][row]})"
                for row in np.flatnonzero(is_turned)
            ),
        )


def _is_infrared(manifest: Manifest) -> NDArray[np.bool_]:
    modalities = manifest.columns.get("modalities")
    if modalities is None:
        return np.zeros(len(manifest), dtype=bool)
    return np.asarray(modalities == "infrared", dtype=bool)
