"""A threshold for a model's distances: chosen on validation data, stored with it, tried on tests.

It is a threshold of plain distances: those after re-ranking depend on all images of a set, so that
a value of one set says nothing on another.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from reid_core.checkpoint.artifact import update_info
from reid_core.config.components import Component
from reid_core.data.manifest import Manifest
from reid_core.data.query_gallery import is_taken_whole
from reid_core.data.sources import read_sets
from reid_core.engine.evaluation.evaluated_set import EvaluatedSet
from reid_core.errors import DataError, UsageError
from reid_core.evaluation.detail import Threshold
from reid_core.evaluation.files.embedding_set import EmbeddingSet
from reid_core.evaluation.metrics.threshold import (
    Criterion,
    ThresholdRates,
    choose_threshold,
    threshold_rates,
)

log = logging.getLogger("reid_core")


@dataclass(frozen=True)
class AppliedThreshold:
    """What a threshold does on a test set.

    Args:
        dataset: Name of the test set.
        threshold: The threshold.
        rates: What it accepts there.
    """

    dataset: str
    threshold: Threshold
    rates: ThresholdRates

    def line(self) -> str:
        """Return it in one line."""
        rates, threshold = self.rates, self.threshold
        chosen = ""
        if threshold.tpr is not None and threshold.fpr is not None:
            chosen = f": tpr {100 * threshold.tpr:.2f} %, fpr {100 * threshold.fpr:.3g} %"
        return (
            f"{self.dataset}: threshold {threshold.value:.6g} ({threshold.distance} distance, "
            f"{threshold.criterion}), chosen on {threshold.source}{chosen}; on this set: "
            f"tpr {100 * rates.tpr:.2f} % ({rates.accepted_same} of {rates.num_same} pairs of one "
            f"identity accepted)  fpr {100 * rates.fpr:.3g} % ({rates.accepted_different} of "
            f"{rates.num_different} pairs of two)"
        )


def calibrate(
    validation: EvaluatedSet, criterion: Criterion, *, source: str | None = None
) -> Threshold:
    """Choose a threshold on a validation set.

    Args:
        validation: The set, evaluated as the tests are.
        criterion: What the threshold is chosen for.
        source: What the validation set is called in the threshold; None is its name.

    Raises:
        DataError: It has too few pairs to tell.
    """
    try:
        value = choose_threshold(validation.searches(), criterion)
    except DataError as error:
        raise DataError(f"validation set {validation.name}: {error}") from error
    rates = threshold_rates(validation.searches(), value)
    return Threshold(
        value=value,
        distance=validation.distance,
        criterion=criterion.text,
        source=source or validation.name,
        features=validation.features,
        tpr=rates.tpr,
        fpr=rates.fpr,
    )


def apply_threshold(evaluated: EvaluatedSet, threshold: Threshold) -> AppliedThreshold | None:
    """Say what a threshold does on a test set.

    Args:
        evaluated: The test set.
        threshold: Chosen on other data.

    Returns:
        The rates; None where distances are of another kind than it was chosen for, which is logged.
    """
    if evaluated.distance != threshold.distance:
        log.warning(
            "%s: the stored threshold %.6g is for the %s distance, and this is the %s distance: it "
            "says nothing here; evaluate with --distance %s, or choose another by --calibrate",
            evaluated.name,
            threshold.value,
            threshold.distance,
            evaluated.distance,
            threshold.distance,
        )
        return None
    if evaluated.features != threshold.features:
        log.warning(
            "%s: the stored threshold was chosen for embeddings made in another way (%s, now %s); "
            "choose another by --calibrate",
            evaluated.name,
            threshold.features or "plain",
            evaluated.features or "plain",
        )
    if evaluated.rerankers:
        log.info("%s: the threshold is applied to plain distances", evaluated.name)
    return AppliedThreshold(
        evaluated.name, threshold, threshold_rates(evaluated.searches(), threshold.value)
    )


def store_threshold(weights: Path, threshold: Threshold) -> None:
    """Store a threshold in a weights file, instead of an earlier one.

    Raises:
        UsageError: The file is a checkpoint, which only training writes.
        CheckpointError: It is not of a run, or cannot be written.
    """
    require_storable(weights)
    update_info(weights, {"threshold": asdict(threshold)})


def require_storable(weights: Path) -> None:
    """Check that a threshold can be stored in a file.

    Raises:
        UsageError: The file is a checkpoint, which only training writes.
    """
    if weights.suffix != ".safetensors":
        raise UsageError(
            f"--calibrate stores the threshold with the weights, and {weights} is a checkpoint; "
            "name a run folder or one of the .safetensors files in its folder weights"
        )


def require_apart(validation: EmbeddingSet, tests: Sequence[EmbeddingSet]) -> None:
    """Refuse to choose a threshold on what it is then tried on.

    Args:
        validation: What it would be chosen on.
        tests: What it would be tried on.

    Raises:
        UsageError: They share images, or embeddings where images are not known.
    """
    for test in tests:
        _require_none_shared(validation.name, test.name, _num_shared(validation, test))


def require_images_apart(
    validation: Component, tests: Sequence[Component], *, pools: bool = False
) -> None:
    """Read the tables of validation and test sets, and refuse shared images.

    Nothing is embedded for it: a mistake is told before hours of work.

    Args:
        validation: What a threshold would be chosen on.
        tests: What it would be tried on.
        pools: Whether the protocol makes one pool of query and gallery.

    Raises:
        UsageError: They share images.
        DataError: A set is not there or cannot be read.
    """
    chosen, *tried = read_sets([validation, *tests])
    own = _images(chosen, pools=pools)
    for manifest in tried:
        number = len(own & _images(manifest, pools=pools))
        _require_none_shared(chosen.name, manifest.name, number)


def _images(manifest: Manifest, *, pools: bool) -> set[str]:
    """Return where the images are that a set is tested with."""
    is_whole = is_taken_whole(manifest, pools=pools)
    parts = [manifest] if is_whole else [manifest.select("query"), manifest.select("gallery")]
    root = manifest.root.resolve().as_posix()
    return {f"{root}/{path}" for part in parts for path in part.paths.tolist()}


def _require_none_shared(validation: str, test: str, number: int) -> None:
    if number:
        raise UsageError(
            f"validation set {validation} and test set {test} share {number} images: a threshold "
            "chosen on the test set looks better there than it is; cut a validation set from the "
            "training images by 'reid-data split --val 0.2' and name it by --validation"
        )


def _num_shared(one: EmbeddingSet, other: EmbeddingSet) -> int:
    sides = [side for each in (one, other) for side in each.sides]
    # Names alone may be the same in two folders.
    is_located = all(
        side.paths is not None and all(map(os.path.isabs, side.paths[:1])) for side in sides
    )
    keys = _paths if is_located else _contents
    return len(keys(one) & keys(other))


def _paths(embeddings: EmbeddingSet) -> set[object]:
    return {
        path
        for side in embeddings.sides
        if side.paths is not None
        for path in np.unique(side.paths).tolist()
    }


def _contents(embeddings: EmbeddingSet) -> set[object]:
    return {row.tobytes() for side in embeddings.sides for row in side.features}
