"""A random order that is the same on every machine, whatever order the rows are in."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import numpy as np

from reid_core.data.manifest import Manifest


def draw_key(seed: int, kind: str, text: str) -> bytes:
    """Return what a name is sorted by to shuffle it among others.

    The key depends on the name alone, not on a generator that goes from one to the next: a name
    more or less leaves the order of the others as it is.

    Args:
        seed: Another seed gives another order.
        kind: What is shuffled, ``identity`` say, so that orders of two kinds are unrelated.
        text: The name.
    """
    return blake2b(f"{seed}\x1f{kind}\x1f{text}".encode(), digest_size=8).digest()


def shuffled(names: Iterable[str], seed: int, kind: str) -> list[str]:
    """Return names in the order of their keys."""
    return sorted(names, key=lambda name: (draw_key(seed, kind, name), name))


def row_texts(manifest: Manifest) -> list[str]:
    """Return a text for each row that no other row has: path, box and identity."""
    texts: list[str] = manifest.paths.tolist()
    boxes = manifest.columns.get("boxes")
    if boxes is not None:
        pairs = zip(texts, boxes.tolist(), strict=True)
        texts = [f"{path}\x1f{' '.join(f'{one:.3f}' for one in box)}" for path, box in pairs]
    pids = manifest.pids.tolist()
    return [f"{text}\x1f{pid}" for text, pid in zip(texts, pids, strict=True)]


def in_order(manifest: Manifest) -> tuple[Manifest, list[str]]:
    """Sort rows by their texts.

    Returns:
        The rows, and the text of each.
    """
    texts = row_texts(manifest)
    order = sorted(range(len(texts)), key=texts.__getitem__)
    return manifest.take(np.array(order, dtype=np.intp)), [texts[row] for row in order]
