"""The cut of a data set into train, query and gallery."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from reid_core.data.manifest import SPLITS, Manifest
from reid_core.data.nobody import stands_for_nobody
from reid_core.data.splitting.draw import Draw, draw_queries
from reid_core.data.splitting.order import draw_key, in_order, shuffled
from reid_core.data.splitting.rule import SplitRule
from reid_core.data.splitting.times import GALLERY, stages_across, stages_within
from reid_core.errors import DataError
from reid_core.wording import counted

#: Identities that a split needs: two to train on, one to test.
_FEWEST = 3


@dataclass(frozen=True, eq=False)
class Cut:
    """A data set that was cut.

    Args:
        manifest: Its rows, sorted by split and path; those that were left out are not there.
        unknown: Test identities that have queries only.
        leftover: Identities that cannot be tested.
        leftover_reason: Why, and where they went.
        left_out: Number of images left out, by reason.
        remarks: What else is worth knowing, for example which cameras were held out.
    """

    manifest: Manifest
    unknown: int
    leftover: int
    leftover_reason: str
    left_out: dict[str, int]
    remarks: tuple[str, ...] = ()


def cut(manifest: Manifest, rule: SplitRule) -> Cut:
    """Cut a data set into train, query and gallery, whatever splits it had.

    The outcome depends on the seed and on the rows, not on their order, nor on the machine.

    Args:
        manifest: The rows.
        rule: How.

    Raises:
        DataError: Nothing can be tested, or nothing is left to train on; the message says why.
    """
    return _Cutter(manifest, rule).cut()


class _Cutter:
    def __init__(self, manifest: Manifest, rule: SplitRule) -> None:
        self._rule = rule
        self._rows, self._texts = in_order(manifest)
        self._splits = np.full(len(self._rows), "", dtype="<U7")
        self._left_out: Counter[str] = Counter()
        self._remarks: list[str] = []
        pids, identity = np.unique(self._rows.pids, return_inverse=True)
        self._names = [str(pid) for pid in pids.tolist()]
        self._identity = identity
        self._camera = np.unique(self._rows.camids, return_inverse=True)[1]
        self._is_nobody = stands_for_nobody(self._rows)
        self._note_shared_names()
        self._may_test = self._testing_cameras()
        self._stages = self._find_stages()
        self._by_identity = self._group()

    def cut(self) -> Cut:
        draws = {name: self._draw(rows) for name, rows in self._by_identity.items()}
        order = shuffled(draws, self._rule.seed, "identity")
        testable = [name for name in order if draws[name] is not None]
        tested = testable[: self._number_tested(testable)]
        num_unknown = self._number_unknown(len(tested))
        unknown = tested[len(tested) - num_unknown :]
        for name in tested:
            self._test(name, draws[name], is_unknown=name in set(unknown))
        for name in sorted(set(draws) - set(tested)):
            self._keep(self._by_identity[name], is_testable=draws[name] is not None)
        self._place_distractors()
        return self._finish(len(unknown), len(draws) - len(testable))

    def _note_shared_names(self) -> None:
        """Say where names of the two old parts, numbered on their own perhaps, are joined."""
        was_trained = self._rows.splits == "train"
        somebody = self._identity[~self._is_nobody], was_trained[~self._is_nobody]
        shared = np.intersect1d(somebody[0][somebody[1]], somebody[0][~somebody[1]])
        if len(shared):
            self._remarks.append(
                f"{counted(len(shared), 'identity was', 'identities were')} both in training and "
                f"in the test, for example {self._names[shared[0]]}, and each is taken for one and "
                "the same; where the two parts were numbered on their own, rename them first"
            )

    def _testing_cameras(self) -> NDArray[np.bool_]:
        """Say which rows may be query or gallery: all, or those of the cameras held out."""
        if self._rule.by != "camera":
            return np.ones(len(self._rows), dtype=bool)
        name = self._rows.name
        if not self._rows.has_cameras:
            raise DataError(
                f"data set {name}: --by camera needs cameras, and it does not know them; cut it "
                "--by identity"
            )
        known = [str(camera) for camera in self._rows.cameras.tolist()]
        held = self._rule.cameras or tuple(self._drawn_cameras(known))
        unknown = [camera for camera in held if camera not in known]
        if unknown:
            raise DataError(
                f"data set {name}: --cameras {unknown[0]}: no such camera; it has "
                f"{', '.join(known)}"
            )
        if len(set(held)) < 2 or len(set(held)) >= len(known):
            raise DataError(
                f"data set {name}: --by camera holds out at least two cameras, for queries to be "
                f"found in another one, and leaves at least one to train on; got "
                f"{len(set(held))} of {len(known)}; use --cameras, or --by identity"
            )
        self._remarks.append(f"cameras held out: {', '.join(sorted(held))}")
        is_held = np.array([str(one) in held for one in self._rows.cameras.tolist()], dtype=bool)
        return is_held[self._rows.camid_codes]

    def _drawn_cameras(self, known: list[str]) -> list[str]:
        share = self._rule.test if self._rule.test < 1 else 0
        number = min(max(2, round(share * len(known))), max(len(known) - 1, 0))
        return shuffled(known, self._rule.seed, "camera")[:number]

    def _find_stages(self) -> NDArray[np.int64] | None:
        if self._rule.by == "time":
            return stages_across(self._rows)
        if self._rows.has_cameras or self._rule.mix_times:
            return None
        stages = stages_within(self._rows, self._identity)
        if stages is not None:
            self._remarks.append("queries and gallery of an identity are apart in time")
        return stages

    def _group(self) -> dict[str, NDArray[np.intp]]:
        """Return the rows of each identity, shuffled."""
        keys = [draw_key(self._rule.seed, "image", text) for text in self._texts]
        shuffled_rows = sorted(range(len(keys)), key=keys.__getitem__)
        rows = np.array(shuffled_rows, dtype=np.intp)
        rows = rows[~self._is_nobody[rows]]
        rows = rows[np.argsort(self._identity[rows], kind="stable")]
        bounds = np.flatnonzero(np.diff(self._identity[rows])) + 1
        parts = np.split(rows, bounds) if len(rows) else []
        return {self._names[self._identity[part[0]]]: part for part in parts}

    def _draw(self, rows: NDArray[np.intp]) -> Draw | None:
        rows = rows[self._may_test[rows]]
        return draw_queries(
            self._camera[rows].tolist(),
            has_cameras=self._rows.has_cameras,
            stages=None if self._stages is None else self._stages[rows].tolist(),
            num_queries=self._rule.query,
        )

    def _number_tested(self, testable: list[str]) -> int:
        name = self._rows.name
        if len(self._by_identity) < _FEWEST:
            there = counted(len(self._by_identity), "identity", "identities")
            raise DataError(
                f"data set {name}: it has {there}, and a split needs {_FEWEST} at least, two to "
                "train on and one to test; check "
                "how identities are read ('reid-data stats'), or add images of others"
            )
        if not testable:
            raise DataError(f"data set {name}: no identity can be tested: {self._why_none()}")
        number = self._rule.number(len(testable))
        if number > len(testable):
            raise DataError(
                f"data set {name}: --test {number}: only {len(testable)} of "
                f"{len(self._by_identity)} identities can be tested; lower it"
            )
        return number

    def _number_unknown(self, num_tested: int) -> int:
        if not self._rule.open_set:
            return 0
        if num_tested < 2:
            raise DataError(
                f"data set {self._rows.name}: --open-set {self._rule.open_set:g} needs two test "
                f"identities at least, one that is known and one that is not; got {num_tested}; "
                "raise --test"
            )
        return min(max(1, round(self._rule.open_set * num_tested)), num_tested - 1)

    def _why_none(self) -> str:
        place = " in the cameras held out" if self._rule.by == "camera" else ""
        if self._rule.by == "time":
            where = " and in another camera" if self._rows.has_cameras else ""
            return (
                f"none has images before and after the middle of the time{where}; use --by identity"
            )
        if self._rows.has_cameras:
            return (
                f"none has images of two cameras{place}, so no query has a match in another one; "
                "--ignore-cameras cuts the set without regard to cameras"
            )
        if self._stages is not None:
            return "none has images of two moments; --mix-times cuts the set without regard to time"
        return "none has two images; add images, or look at the identities with 'reid-data stats'"

    def _test(self, name: str, draw: Draw | None, *, is_unknown: bool) -> None:
        if draw is None:  # only what can be tested gets here
            return
        rows = self._by_identity[name]
        may_test = rows[self._may_test[rows]]
        self._splits[may_test[draw.query]] = "query"
        if is_unknown:
            self._drop(len(draw.gallery), "of unknown identities, not drawn as a query")
        else:
            self._splits[may_test[draw.gallery]] = "gallery"
        self._drop(len(draw.unused), "of test identities, later than the gallery and no query")
        self._drop(len(rows) - len(may_test), "of test identities, in training cameras")

    def _keep(self, rows: NDArray[np.intp], *, is_testable: bool) -> None:
        """Place an identity that is not tested."""
        goes_to = "train" if is_testable else self._rule.leftover
        if goes_to == "drop":
            self._drop(len(rows), "of identities that cannot be tested")
            return
        is_fit = np.ones(len(rows), dtype=bool)
        reason = ""
        if self._rule.by == "camera":
            is_fit = self._may_test[rows] == (goes_to == "gallery")
            reason = (
                "of training identities, in cameras held out"
                if goes_to == "train"
                else "of identities that cannot be tested, in training cameras"
            )
        elif self._rule.by == "time" and self._stages is not None:
            is_fit = self._stages[rows] == GALLERY
            reason = f"too late for {goes_to}, or without a time"
        self._splits[rows[is_fit]] = goes_to
        self._drop(int((~is_fit).sum()), reason)

    def _place_distractors(self) -> None:
        nobody = np.flatnonzero(self._is_nobody)
        is_fit = self._may_test[nobody]
        self._splits[nobody[is_fit]] = "gallery"
        self._drop(int((~is_fit).sum()), "distractors in training cameras")

    def _drop(self, number: int, reason: str) -> None:
        if number:
            self._left_out[reason] += number

    def _finish(self, unknown: int, leftover: int) -> Cut:
        order = np.concatenate([np.flatnonzero(self._splits == split) for split in SPLITS])
        rows = replace(self._rows.take(order), splits=self._splits[order], expected={})
        trained = rows.count("train").identities
        if trained < 2:
            raise DataError(
                f"data set {rows.name}: this would leave {trained} of its "
                f"{len(self._by_identity)} identities to train on, and training needs two; "
                f"{self._how_to_train_more(rows.count('query').identities)}"
            )
        return Cut(
            manifest=rows,
            unknown=unknown,
            leftover=leftover,
            leftover_reason=self._leftover_reason(),
            left_out=dict(self._left_out),
            remarks=tuple(self._remarks),
        )

    def _how_to_train_more(self, num_tested: int) -> str:
        if num_tested > 1:
            return "lower --test"
        # One is tested already, so --test has nothing to give.
        if self._rule.leftover != "train":
            return "--leftover train also trains on those that cannot be tested"
        if self._rule.by == "camera":
            return "hold out other cameras by --cameras, or cut it --by identity"
        if self._rule.by == "time":
            return "the others have no image before the middle of the time; cut it --by identity"
        return "add images of other identities"

    def _leftover_reason(self) -> str:
        place = " held out" if self._rule.by == "camera" else ""
        if self._rule.by == "time":
            why = "no query after, with a match before, the middle of the time"
        elif self._rows.has_cameras:
            why = f"not seen by two cameras{place}"
        else:
            why = "a single image" if self._stages is None else "a single moment"
        where = {"train": "to training", "gallery": "to the gallery", "drop": "nowhere"}
        return f"{why}; they went {where[self._rule.leftover]}"
