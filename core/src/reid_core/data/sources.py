"""The data sets of a run: built by name, checked, and cut into what training and test need."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from reid_core.config.components import Component
from reid_core.data.manifest import IdArray, Manifest
from reid_core.errors import ConfigError, DataError, PluginError
from reid_core.plugins.registries import DATASETS

log = logging.getLogger("reid_core")


@dataclass(frozen=True, eq=False)
class TestSet:
    """The query and gallery of one data set.

    Args:
        name: The data set's name.
        rows: Query rows first, gallery rows after them.
        num_query: How many of the rows are queries.
    """

    __test__ = False  # not a test case, whatever pytest reads into the name

    name: str
    rows: Manifest
    num_query: int

    def codes(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return pids and camids (N,) int64 of all rows.

        Integers keep their values, so that -1 (junk) and 0 (distractor) keep their meaning; text is
        numbered from 1 in sorted order.
        """
        return _as_integers(self.rows.pids), _as_integers(self.rows.camids)


class Sources:
    """The data sets a config names; each is read once, however often it is named.

    Args:
        train: Training sets by name and parameters.
        test: Test sets by name and parameters.

    Raises:
        ConfigError: A list names one set twice.
        DataError: A set is not there or cannot be read.
        PluginError: A set's factory returns something else than a manifest.
    """

    def __init__(self, *, train: Sequence[Component], test: Sequence[Component]) -> None:
        for field, components in (("train", train), ("test", test)):
            _require_once(field, components)
        cache: list[tuple[Component, Manifest]] = []
        self._train = _distinct([_read(component, cache) for component in train])
        self._test = _distinct([_read(component, cache) for component in test])
        for component, manifest in cache:
            if component in train and component in test:
                _warn_of_overlap(manifest)
            log.info("data set %s", manifest.summary())
            for note in manifest.notes:
                log.info("data set %s: %s", manifest.name, note)

    def train_manifests(self) -> list[Manifest]:
        """Return the training rows of each training set.

        Raises:
            DataError: A set has none.
        """
        selected = [manifest.select("train") for manifest in self._train]
        for manifest in selected:
            if len(manifest) == 0:
                raise DataError(
                    f"data set {manifest.name} ({manifest.root}) has no training images; choose "
                    "another one for data.train"
                )
        return selected

    def test_sets_or_none(self) -> list[TestSet]:
        """Return the test sets, none where evaluation is off."""
        return self.test_sets() if self._test else []

    def test_sets(self) -> list[TestSet]:
        """Return query and gallery of each test set.

        Raises:
            DataError: A set has no query or no gallery.
        """
        sets = []
        for manifest in self._test:
            query, gallery = manifest.select("query"), manifest.select("gallery")
            for split, rows in (("query", query), ("gallery", gallery)):
                if len(rows) == 0:
                    raise DataError(
                        f"data set {manifest.name} ({manifest.root}) has no {split} images, so it "
                        "cannot be evaluated; set data.test to a set that has them, or "
                        "evaluate.every=0"
                    )
            order = np.concatenate(
                [np.flatnonzero(manifest.splits == s) for s in ("query", "gallery")]
            )
            sets.append(TestSet(manifest.name, manifest.take(order), len(query)))
        return sets


def _read(component: Component, cache: list[tuple[Component, Manifest]]) -> Manifest:
    for known, manifest in cache:
        if known == component:
            return manifest
    built = DATASETS.build(component.as_call())
    if not isinstance(built, Manifest):
        raise PluginError(
            f"data set {component.name} of {DATASETS.resolve(component.name).origin()} gave a "
            f"{type(built).__name__}; expected a reid_core.data.manifest.Manifest"
        )
    cache.append((component, built))
    return built


def _distinct(manifests: list[Manifest]) -> list[Manifest]:
    """Give the second of two sets of one name another, so that their identities stay apart."""
    given = {manifest.name for manifest in manifests}
    named: dict[str, Manifest] = {}
    for manifest in manifests:
        if manifest.name in named:
            candidates = (f"{manifest.name}-{number}" for number in count(2))
            name = next(c for c in candidates if c not in given and c not in named)
            named[name] = replace(manifest, name=name)
        else:
            named[manifest.name] = manifest
    return list(named.values())


def _require_once(field: str, components: Sequence[Component]) -> None:
    """Refuse a set named twice: in training its identities would count as different people."""
    for position, component in enumerate(components):
        if component in components[:position]:
            raise ConfigError(
                f"data.{field}: data set {component.name} is named twice with the same parameters; "
                "remove one"
            )


def _warn_of_overlap(manifest: Manifest) -> None:
    trained = np.unique(manifest.pids[manifest.splits == "train"])
    tested = np.unique(manifest.pids[manifest.splits != "train"])
    shared = np.intersect1d(trained, tested)
    if len(shared):
        log.warning(
            "data set %s: %d identities are both in training and in query or gallery, for example "
            "%s: its results say nothing about new identities",
            manifest.name,
            len(shared),
            shared[0],
        )


def _as_integers(ids: IdArray) -> NDArray[np.int64]:
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64)
    return np.unique(ids, return_inverse=True)[1].astype(np.int64) + 1
