"""A small part of a data set that can still be trained on and tested."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import SPLITS, Manifest
from reid_core.data.nobody import stands_for_nobody
from reid_core.data.splitting.order import draw_key, in_order, shuffled
from reid_core.errors import DataError


def subset(manifest: Manifest, *, identities: int, images: int, seed: int = 0) -> Manifest:
    """Draw a few identities of training and of test, and a few images of each.

    Images of an identity are taken from its cameras in turn. A query is kept where its match is:
    in another camera where cameras are known. Queries without a match are never drawn.

    Args:
        manifest: The rows.
        identities: Most identities of training, and as many of test, at least 2.
        images: Most images of an identity in each split, at least 2; there are as many distractors
            as tested identities, at most.
        seed: Another seed draws others.

    Returns:
        The part, sorted by split and path.

    Raises:
        DataError: The set has a query, and no query has a match.
    """
    return _Drawer(manifest, identities, images, seed).drawn()


class _Drawer:
    def __init__(self, manifest: Manifest, identities: int, images: int, seed: int) -> None:
        self._rows, texts = in_order(manifest)
        self._keys = [draw_key(seed, "image", text) for text in texts]
        self._identities, self._images, self._seed = identities, images, seed
        self._pids = [str(pid) for pid in self._rows.pids.tolist()]
        self._cameras = np.unique(self._rows.camids, return_inverse=True)[1]
        self._is_nobody = stands_for_nobody(self._rows)

    def drawn(self) -> Manifest:
        groups = {split: self._group(split) for split in SPLITS}
        chosen = self._train(groups["train"])
        if groups["query"]:
            chosen += self._test(groups["query"], groups["gallery"])
        elif groups["gallery"]:
            chosen += self._train(groups["gallery"])
        nobody = np.flatnonzero(self._is_nobody & (self._rows.splits == "gallery")).tolist()
        chosen += sorted(nobody, key=self._keys.__getitem__)[: self._identities]
        kept = np.array(sorted(chosen), dtype=np.intp)
        splits = self._rows.splits[kept]
        order = np.concatenate([np.flatnonzero(splits == split) for split in SPLITS])
        return replace(self._rows.take(kept[order]), expected={})

    def _group(self, split: str) -> dict[str, list[int]]:
        groups: dict[str, list[int]] = defaultdict(list)
        rows: NDArray[np.intp] = np.flatnonzero((self._rows.splits == split) & ~self._is_nobody)
        for row in rows.tolist():
            groups[self._pids[row]].append(row)
        return groups

    def _train(self, groups: dict[str, list[int]]) -> list[int]:
        names = shuffled(groups, self._seed, "identity")[: self._identities]
        return [row for name in names for row in self._in_turn(groups[name])[: self._images]]

    def _test(self, queries: dict[str, list[int]], galleries: dict[str, list[int]]) -> list[int]:
        chosen: list[int] = []
        count = 0
        for name in shuffled(queries, self._seed, "identity"):
            gallery = self._in_turn(galleries.get(name, []))[: self._images]
            found = [row for row in self._in_turn(queries[name]) if self._has_match(row, gallery)]
            if found and count < self._identities:
                chosen += [*gallery, *found[: self._images]]
                count += 1
        if not chosen:
            raise DataError(
                f"data set {self._rows.name}: no query has a match, so no part of it can be "
                "tested; 'reid-data check' says why, 'reid-data split' cuts it anew"
            )
        return chosen

    def _has_match(self, query: int, gallery: list[int]) -> bool:
        if not self._rows.has_cameras:
            return bool(gallery)
        return any(self._cameras[row] != self._cameras[query] for row in gallery)

    def _in_turn(self, rows: list[int]) -> list[int]:
        """Return rows shuffled, one of each camera before the second of any."""
        seen: dict[int, int] = defaultdict(int)
        turns = []
        for row in sorted(rows, key=self._keys.__getitem__):
            camera = int(self._cameras[row])
            turns.append((seen[camera], row))
            seen[camera] += 1
        # Sorting is stable: inside of a turn the rows stay shuffled.
        return [row for _, row in sorted(turns, key=lambda turn: turn[0])]
