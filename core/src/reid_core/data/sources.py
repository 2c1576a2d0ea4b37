"""The data sets of a run: built by name, checked, and cut into what training and test need."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import numpy as np

from reid_core.config.components import Component
from reid_core.data.collection import collection_paused
from reid_core.data.combine import all_for_training
from reid_core.data.manifest import Manifest
from reid_core.data.nobody import stands_for_nobody
from reid_core.data.query_gallery import TestSet, is_taken_whole
from reid_core.errors import ConfigError, DataError, PluginError
from reid_core.plugins.registries import DATASETS
from reid_core.wording import counted

__all__ = ["Sources", "TestSet", "read_sets"]

log = logging.getLogger("reid_core")


class Sources:
    """The data sets a config names; each is read once, however often it is named.

    Args:
        train: Training sets by name and parameters.
        test: Test sets by name and parameters.
        combine_all: Whether query and gallery of the training sets are trained on too.
        pools: Whether the protocol makes one pool of query and gallery, so that a test set may have
            one of them alone, or training images alone.
        trains: Whether there is a training; messages then say how to do without a test.

    Raises:
        ConfigError: A list names one set twice.
        DataError: A set is not there or cannot be read.
        PluginError: A set's factory returns something else than a manifest.
    """

    def __init__(
        self,
        *,
        train: Sequence[Component],
        test: Sequence[Component],
        combine_all: bool = False,
        pools: bool = False,
        trains: bool = True,
    ) -> None:
        self._pools, self._trains = pools, trains
        for field, components in (("train", train), ("test", test)):
            _require_once(field, components)
        cache: list[tuple[Component, Manifest]] = []
        trained = _distinct([_read(component, cache) for component in train])
        # A set that is trained on too keeps its name: its cameras are found by it.
        names = {id(_read(one, cache)): named for one, named in zip(train, trained, strict=True)}
        read = [_read(component, cache) for component in test]
        tested = _distinct([names.get(id(manifest), manifest) for manifest in read])
        for _, manifest in cache:
            _log(manifest)
        self._caveats = [
            _caveats(manifest, combine_all, pools=pools) if component in train else ()
            for component, manifest in zip(test, tested, strict=True)
        ]
        for manifest, caveats in zip(tested, self._caveats, strict=True):
            for caveat in caveats:
                log.warning("data set %s: %s", manifest.name, caveat)
        for manifest in tested:
            if is_taken_whole(manifest, pools=pools):
                log.info(
                    "data set %s: it has no query and no gallery, so each of its images (%d) "
                    "searches all others",
                    manifest.name,
                    len(manifest),
                )
        # Only what is used is kept: of a million rows the whole is worth a tenth of the memory.
        self._train = [all_for_training(m) if combine_all else m.select("train") for m in trained]
        self._test = [
            m if is_taken_whole(m, pools=pools) else _query_and_gallery(m) for m in tested
        ]

    def train_manifests(self) -> list[Manifest]:
        """Return the training rows of each training set.

        Raises:
            DataError: A set has none, or all sets together show one identity.
        """
        for manifest in self._train:
            if len(manifest) == 0:
                raise DataError(
                    f"data set {manifest.name} ({manifest.root}) has no training images; choose "
                    "another one for data.train, or cut it with 'reid-data split'"
                )
        _require_two_identities(self._train)
        return list(self._train)

    def test_sets_or_none(self) -> list[TestSet]:
        """Return the test sets, none where evaluation is off."""
        return self.test_sets() if self._test else []

    def test_sets(self) -> list[TestSet]:
        """Return query and gallery of each test set.

        Raises:
            DataError: A set has no query or no gallery.
        """
        return [
            TestSet.of(manifest, caveats, pools=self._pools, trains=self._trains)
            for manifest, caveats in zip(self._test, self._caveats, strict=True)
        ]


def read_sets(components: Sequence[Component]) -> list[Manifest]:
    """Read data sets, whole, each under a name of its own.

    Args:
        components: The sets by name and parameters.

    Raises:
        DataError: A set is not there or cannot be read.
        PluginError: A set's factory returns something else than a manifest.
    """
    return _distinct([_read(component, []) for component in components])


def _read(component: Component, cache: list[tuple[Component, Manifest]]) -> Manifest:
    for known, manifest in cache:
        if known == component:
            return manifest
    with collection_paused():
        built = DATASETS.build(component.as_call())
    if not isinstance(built, Manifest):
        raise PluginError(
            f"data set {component.name} of {DATASETS.resolve(component.name).origin()} gave a "
            f"{type(built).__name__}; expected a reid_core.data.manifest.Manifest"
        )
    cache.append((component, built))
    return built


def _query_and_gallery(manifest: Manifest) -> Manifest:
    parts = [np.flatnonzero(manifest.splits == split) for split in ("query", "gallery")]
    return manifest.take(np.concatenate(parts))


def _log(manifest: Manifest) -> None:
    log.info("data set %s", manifest.summary())
    for note in manifest.notes:
        log.info("data set %s: %s", manifest.name, note)


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


def _require_two_identities(manifests: Sequence[Manifest]) -> None:
    """Refuse sets that leave nothing to tell apart; identities of two sets are never the same."""
    if sum(len(manifest.identities) for manifest in manifests) == 1:
        (manifest,) = manifests
        raise DataError(
            f"data set {manifest.name} ({manifest.root}): its "
            f"{counted(len(manifest), 'training image shows', 'training images show')} one "
            f"identity, {manifest.identities[0]}, so there is nobody to tell it from; training "
            "needs two identities at least: check how identities are read ('reid-data stats'), or "
            "join another set in data.train"
        )


def _caveats(manifest: Manifest, combines_all: bool, *, pools: bool) -> tuple[str, ...]:
    """Return why figures of a set that is trained on say little about new identities."""
    if is_taken_whole(manifest, pools=pools):
        return ("its images are trained on: its results say nothing about new identities",)
    if combines_all:
        return (
            "its query and gallery are trained on (data.combine_all): not comparable with results "
            "on new identities",
        )
    is_trained = manifest.splits == "train"
    is_tested = ~is_trained & ~stands_for_nobody(manifest)
    codes, number = manifest.pid_codes, len(manifest.identities)
    shared = np.flatnonzero(
        (np.bincount(codes[is_trained], minlength=number) > 0)
        & (np.bincount(codes[is_tested], minlength=number) > 0)
    )
    if not len(shared):
        return ()
    return (
        f"{counted(len(shared), 'identity is', 'identities are')} both in training and in query or "
        "gallery, for example "
        f"{manifest.identities[shared[0]]}: its results say nothing about new identities",
    )
