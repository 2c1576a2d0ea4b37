"""What the identities of a set look like: spelled twice, seen once, missing in a row of numbers."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from typing import cast

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray, Manifest
from reid_core.data.nobody import JUNK, stands_for_nobody
from reid_core.doctor.counts import is_as_published
from reid_core.doctor.finding import Finding, counted, some

#: Text that stands for a value nobody wrote.
_BLANK = {"", "nan", "none", "null", "n/a", "na", "<na>", "unknown", "?"}
#: A missing stretch of numbers longer than this part of the identities is a new block of numbers.
_BLOCK = 0.1
#: Part of a block's numbers that have to be there before one that is not counts as missing.
_DENSE = 0.95
#: An identity with so many times the images of the middle one outweighs the others.
_HEAVY = 10
_HEAVY_IMAGES = 50


def check_spelling(manifest: Manifest) -> Iterator[Finding]:
    """Find identities and cameras that are spelled twice, or not at all."""
    for column, noun, plural in (
        ("pids", "identity", "identities"),
        ("camids", "camera", "cameras"),
    ):
        ids: IdArray = getattr(manifest, column)
        if ids.dtype.kind in "iu":
            continue
        values = (manifest.identities if column == "pids" else manifest.cameras).tolist()
        blank = [value for value in values if _folded(value) in _BLANK]
        if blank:
            chosen = np.isin(ids, blank)
            yield Finding(
                f"blank-{noun}",
                "warning",
                manifest.name,
                f"{counted(int(chosen.sum()), 'image')} have {blank[0]!r} as {noun}, and are taken "
                f"for one and the same",
                f"write the {noun} into column {column[:-1]}, or take the images out",
                int(chosen.sum()),
                some(manifest.paths[chosen]),
            )
        spellings: dict[str, list[str]] = {}
        for value in values:
            if value not in blank:
                spellings.setdefault(_folded(value), []).append(value)
        twice = [group for group in spellings.values() if len(group) > 1]
        if twice:
            yield Finding(
                f"{noun}-spelled-twice",
                "warning",
                manifest.name,
                f"{counted(len(twice), noun, plural)} may be spelled in several ways, and count as "
                "different ones",
                "if they are the same, spell them alike: upper and lower case, leading zeros and "
                "blanks tell them apart",
                len(twice),
                some(" = ".join(repr(one) for one in group) for group in twice),
            )


def check_written_numbers(manifest: Manifest) -> Iterator[Finding]:
    """Find identities whose number the files' names write in several ways, 7 and 0007."""
    if manifest.pids.dtype.kind not in "iu":
        return
    written: dict[int, dict[str, str]] = {}
    for path, pid in zip(manifest.paths.tolist(), manifest.pids.tolist(), strict=True):
        digits = path.rpartition("/")[2].partition("_")[0]
        if digits.isdecimal() and digits.isascii() and int(digits) == pid:
            written.setdefault(pid, {}).setdefault(digits, path)
    twice = {pid: names for pid, names in sorted(written.items()) if len(names) > 1}
    if twice:
        yield Finding(
            "identity-spelled-twice",
            "warning",
            manifest.name,
            f"{counted(len(twice), 'identity is', 'identities are')} written in several ways in "
            "the names of the files, and taken for one",
            "check that they are the same individual, and write its number alike",
            len(twice),
            some(" = ".join(names.values()) for names in twice.values()),
        )


def check_junk(manifest: Manifest) -> Iterator[Finding]:
    """Find images that stand for nobody where they do harm: in training and among the queries."""
    nobody = stands_for_nobody(manifest)
    for split, harm in (
        ("train", "would be learned as one person"),
        ("query", "have nobody to find"),
    ):
        chosen = nobody & (manifest.splits == split)
        if number := int(chosen.sum()):
            yield Finding(
                f"junk-in-{split}",
                "warning",
                manifest.name,
                f"{counted(number, 'image')} of split {split} are junk or distractors (identity "
                f"{', '.join(str(pid) for pid in np.unique(manifest.pids[chosen]))}), which {harm}",
                "take them out; they belong into the gallery, if anywhere",
                number,
                some(manifest.paths[chosen]),
            )


def check_training(manifest: Manifest) -> Iterator[Finding]:
    """Find training identities with one image, with one camera, or with most of the images."""
    rows = (manifest.splits == "train") & ~stands_for_nobody(manifest)
    if not rows.any():
        if len(manifest):
            yield Finding(
                "no-training-images",
                "info",
                manifest.name,
                "there are no training images: the set can be evaluated, not trained on",
                "nothing has to be done if it is meant for data.test alone",
                0,
            )
        return
    pids, inverse, images = np.unique(manifest.pids[rows], return_inverse=True, return_counts=True)
    if len(pids) == 1:
        yield Finding(
            "one-training-identity",
            "error",
            manifest.name,
            f"all {len(inverse)} training images show identity {pids[0]}, so there is nothing to "
            "tell apart",
            "say by column pid, or by the folders, which individual each image shows",
            1,
            (str(pids[0]),),
        )
        return
    yield from _single(manifest, pids, images)
    if manifest.has_cameras:
        yield from _single_camera(manifest, rows, pids, inverse, images)
    yield from _heavy(manifest, pids, images)


def _single(
    manifest: Manifest, pids: NDArray[np.generic], images: NDArray[np.intp]
) -> Iterator[Finding]:
    alone = pids[images == 1]
    if len(alone):
        yield Finding(
            "single-image-identities",
            "warning",
            manifest.name,
            f"{len(alone)} of {len(pids)} training identities {_have(len(alone))} one image: "
            "nothing shows what stays the same about them",
            "add images, or leave them out of training; a P×K batch repeats the one image",
            len(alone),
            some(alone),
        )


def _single_camera(
    manifest: Manifest,
    rows: NDArray[np.bool_],
    pids: NDArray[np.generic],
    inverse: NDArray[np.intp],
    images: NDArray[np.intp],
) -> Iterator[Finding]:
    cameras, camids = np.unique(manifest.camids[rows], return_inverse=True)
    if len(cameras) < 2:
        return  # nobody could be seen by two
    pairs = np.unique(inverse.astype(np.int64) * len(cameras) + camids)
    num_cameras = np.bincount(pairs // len(cameras), minlength=len(pids))
    alone = pids[(num_cameras == 1) & (images > 1)]
    if len(alone):
        yield Finding(
            "single-camera-identities",
            "warning",
            manifest.name,
            f"one camera of {len(cameras)} has seen {len(alone)} of {len(pids)} training "
            "identities: they teach the camera as much as the individual",
            "add images of other cameras; where there are none, nothing has to be done",
            len(alone),
            some(alone),
        )


def _heavy(
    manifest: Manifest, pids: NDArray[np.generic], images: NDArray[np.intp]
) -> Iterator[Finding]:
    middle = float(np.median(images))
    heavy = (images >= _HEAVY * middle) & (images >= _HEAVY_IMAGES)
    if heavy.any():
        order = np.argsort(-images[heavy], kind="stable")
        pairs = zip(pids[heavy][order], images[heavy][order], strict=True)
        yield Finding(
            "identity-imbalance",
            "warning",
            manifest.name,
            f"{counted(int(heavy.sum()), 'training identity', 'training identities')} have at "
            f"least {_HEAVY} times the images of the middle one ({middle:g})",
            "check that different individuals are not put together; the sampler imbalanced draws "
            "them less often",
            int(heavy.sum()),
            some(f"{pid} ({number} images)" for pid, number in pairs),
        )


def check_overlap(manifest: Manifest) -> Iterator[Finding]:
    """Find identities that are both in training and in the test."""
    is_trained = manifest.splits == "train"
    is_somebody = ~stands_for_nobody(manifest)
    trained = np.unique(manifest.pids[is_trained])
    shared = np.intersect1d(trained, np.unique(manifest.pids[~is_trained & is_somebody]))
    if len(shared):
        rows = ~is_trained & np.isin(manifest.pids, shared)
        yield Finding(
            "identity-in-train-and-test",
            "warning",
            manifest.name,
            f"{counted(len(shared), 'identity is', 'identities are')} both in training and in "
            f"query or gallery ({counted(int(rows.sum()), 'test image')}): results say nothing "
            "about new identities",
            "keep the identities of the test out of training; if the two parts are numbered "
            "independently, give them different numbers",
            len(shared),
            some(_with_image(manifest, rows, pid) for pid in shared),
        )


def check_gaps(manifest: Manifest) -> Iterator[Finding]:
    """Find numbers that are missing in an otherwise dense numbering, over all splits together."""
    if is_as_published(manifest) or manifest.identities.dtype.kind not in "iu":
        return
    ids = cast("NDArray[np.int64]", manifest.identities.astype(np.int64))
    ids = ids[(ids > 0) & ~np.isin(ids, [JUNK, *manifest.distractors])]
    if len(ids) < 2:
        return
    steps = np.diff(ids)
    starts = np.flatnonzero(steps - 1 > max(20.0, _BLOCK * len(ids))) + 1
    missing: list[int] = []
    for block in np.split(ids, starts):
        span = int(block[-1] - block[0]) + 1
        if len(block) < span and len(block) >= _DENSE * span:
            missing += np.setdiff1d(np.arange(block[0], block[-1] + 1), block).tolist()
    if missing:
        yield Finding(
            "identity-gaps",
            "warning",
            manifest.name,
            f"{counted(len(missing), 'identity is', 'identities are')} missing in a numbering that "
            "is dense otherwise",
            "check that no images were lost; if there never were any, nothing has to be done",
            len(missing),
            some(missing),
        )


def _have(number: int) -> str:
    return "has" if number == 1 else "have"


def _folded(value: str) -> str:
    """Return what is left of a spelling when blanks, case and leading zeros are taken away."""
    text = unicodedata.normalize("NFKC", value).strip().casefold()
    return (text.lstrip("0") or "0") if text.isdecimal() else text


def _with_image(manifest: Manifest, rows: NDArray[np.bool_], pid: object) -> str:
    first = np.flatnonzero(rows & (manifest.pids == pid))[0]
    return f"{pid} ({manifest.paths[first]})"
