"""The last checks before the first step, for ``reid-train --check``."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from reid_core.data.image_reader import BrokenImageError, read_image
from reid_core.data.manifest import Manifest
from reid_core.engine.default_trainer import DefaultTrainer
from reid_core.errors import DataError
from reid_core.progress import track

log = logging.getLogger("reid_core")

_THREADS = 4


def check_images(trainer: DefaultTrainer) -> None:
    """Decode every image that the run would read.

    Raises:
        DataError: Some are broken and ``data.broken_images`` is ``fail``; all are listed.
    """
    manifests = [*trainer.train_manifests, *(s.rows for s in trainer.sources.test_sets_or_none())]
    paths = list(dict.fromkeys(path for manifest in manifests for path in _paths(manifest)))
    with ThreadPoolExecutor(_THREADS) as pool:
        results = pool.map(_fault, paths)
        faults = [f for f in track(results, total=len(paths), description="reading images") if f]
    if not faults:
        log.info("all %d images can be read", len(paths))
        return
    text = f"{len(faults)} of {len(paths)} images are broken:\n  " + "\n  ".join(faults)
    if trainer.config.data.broken_images == "skip":
        log.warning("%s", text)
        return
    raise DataError(f"{text}\nrepair or remove them, or set data.broken_images=skip")


def check_first_batch(trainer: DefaultTrainer) -> None:
    """Load one batch and compute its losses, without an update."""
    batch = next(iter(trainer.batches(0, 0)))
    output = trainer.forward(batch)
    losses = ", ".join(f"{name} {value.item():.3f}" for name, value in output.losses.items())
    log.info("first batch: images %s, %s", tuple(batch.images.shape), losses)


def _paths(manifest: Manifest) -> Iterator[str]:
    return (str(manifest.root / path) for path in manifest.paths.tolist())


def _fault(path: str) -> str | None:
    try:
        read_image(path)
    except BrokenImageError as error:
        return str(error)
    return None
