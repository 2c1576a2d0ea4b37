"""The last checks before the first step, for ``reid-train --check``."""

from __future__ import annotations

import logging

import numpy as np

from reid_core.data.image_rows import ImageRows
from reid_core.data.manifest import Manifest
from reid_core.doctor.examine import check_images as look_at_images
from reid_core.doctor.quick import log_findings
from reid_core.doctor.scan import scan_images
from reid_core.engine.default_trainer import DefaultTrainer
from reid_core.errors import DataError

log = logging.getLogger("reid_core")


def check_images(trainer: DefaultTrainer) -> None:
    """Decode every image that the run would read, and log what the doctor finds in them.

    Raises:
        DataError: Some are broken and ``data.broken_images`` is ``fail``; all are listed.
    """
    scan = scan_images(_without_repeats(trainer))
    log_findings(one for one in look_at_images(scan) if one.code != "broken-images")
    number = len(scan.facts)
    if not scan.faults:
        log.info("all %d images can be read", number)
        return
    listed = "\n  ".join(fault.message for fault in scan.faults.values())
    text = f"{len(scan.faults)} of {number} images are broken:\n  {listed}"
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


def _without_repeats(trainer: DefaultTrainer) -> list[Manifest]:
    """Return the rows of the run; an image that is trained on and tested comes once."""
    seen: set[tuple[str, tuple[float, ...] | None]] = set()
    manifests = []
    for whole in (*trainer.train_manifests, *(s.rows for s in trainer.sources.test_sets_or_none())):
        images = ImageRows([whole])
        kept = []
        for row in range(len(whole)):
            key = images.locate(row), images.box(row)
            if key not in seen:
                seen.add(key)
                kept.append(row)
        manifests.append(whole.take(np.array(kept, dtype=np.intp)))
    return manifests
