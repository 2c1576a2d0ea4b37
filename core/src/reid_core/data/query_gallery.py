"""The query and gallery of a data set."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import IdArray, Manifest
from reid_core.data.nobody import JUNK, is_distractor, is_junk
from reid_core.errors import DataError


@dataclass(frozen=True, eq=False)
class TestSet:
    """The query and gallery of one data set.

    Args:
        name: The data set's name.
        rows: Query rows first, gallery rows after them.
        num_query: How many of the rows are queries; all of them where training images are the test.
        caveats: Why figures on it say less than they seem to, for example that some of its
            identities are trained on.
    """

    __test__ = False  # not a test case, whatever pytest reads into the name

    name: str
    rows: Manifest
    num_query: int
    caveats: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        caveats: tuple[str, ...] = (),
        *,
        pools: bool = False,
        trains: bool = True,
    ) -> TestSet:
        """Take query and gallery of a whole set.

        Args:
            manifest: The set.
            caveats: Why figures on it say less than they seem to.
            pools: Whether the protocol makes one pool of query and gallery, so that one of them is
                enough, and of a set with neither the training images are the pool.
            trains: Whether there is a training, which can go on without a test.

        Raises:
            DataError: It has no query or no gallery, or no image at all where one pool is made.
        """
        if is_taken_whole(manifest, pools=pools):
            queries = np.full(len(manifest), "query")
            rows = replace(manifest, splits=queries, expected={})
            return cls(manifest.name, rows, len(rows), caveats)
        parts = [np.flatnonzero(manifest.splits == split) for split in ("query", "gallery")]
        has_one = any(len(part) for part in parts)
        advice = ", let each image search all others by --set evaluate.protocol=leave_one_out"
        pooled = "" if pools else advice
        for split, rows_of in zip(("query", "gallery"), parts, strict=True):
            if len(rows_of) == 0 and not (pools and has_one):
                raise DataError(
                    f"data set {manifest.name} ({manifest.root}) has no {split} images, so it "
                    "cannot be evaluated; set data.test to a set that has them, cut it with "
                    f"'reid-data split'{pooled}{_without_test(trains)}"
                )
        return cls(manifest.name, manifest.take(np.concatenate(parts)), len(parts[0]), caveats)

    def codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pids and camids (N,) int64 of all rows.

        Integers keep their values, so that -1 (junk) and 0 (distractor) keep their meaning. Text is
        numbered from 1 in sorted order, but for junk, which is -1, and distractors, which are 0.
        """
        rows = self.rows
        pids = _as_integers(rows.pids, rows.pid_codes)
        if rows.pids.dtype.kind not in "iu":
            pids[is_distractor(rows)] = 0
            pids[is_junk(rows)] = JUNK
        return pids, _as_integers(rows.camids, rows.camid_codes)


def is_taken_whole(manifest: Manifest, *, pools: bool) -> bool:
    """Say whether the training images of a set are its test, because it has no other.

    Args:
        manifest: The set.
        pools: Whether the protocol makes one pool of query and gallery.
    """
    return pools and len(manifest) > 0 and bool((manifest.splits == "train").all())


def _without_test(trains: bool) -> str:
    if not trains:
        return ""
    return ", or leave the evaluation out: --set evaluate.every=0 --set evaluate.at_start=false"


def _as_integers(ids: IdArray, codes: NDArray[np.int32]) -> NDArray[np.int64]:
    return ids.astype(np.int64) if ids.dtype.kind in "iu" else codes.astype(np.int64) + 1
