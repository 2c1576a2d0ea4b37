from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from reid_core.data.manifest import Manifest, no_cameras
from reid_core.data.splitting.cut import Cut, cut
from reid_core.data.splitting.rule import SplitRule
from reid_core.errors import DataError


def manifest(
    rows: list[tuple[str, int]], *, has_cameras: bool = True, **columns: list[object]
) -> Manifest:
    """Return a set of rows of (identity, camera); paths number them."""
    count = len(rows)
    camids = np.array([camera for _, camera in rows], dtype=np.int64)
    return Manifest(
        name="mine",
        root=Path("mine"),
        paths=np.array([f"{pid}/{row:04d}.jpg" for row, (pid, _) in enumerate(rows)]),
        pids=np.array([pid for pid, _ in rows]),
        camids=camids if has_cameras else no_cameras(count),
        splits=np.array(["gallery"] * count),
        columns={name: np.array(values) for name, values in columns.items()},
        has_cameras=has_cameras,
    )


def grid(identities: int, cameras: int, shots: int, **more: bool) -> Manifest:
    rows = [
        (f"p{pid:02d}", camera)
        for pid in range(identities)
        for camera in range(cameras)
        for _ in range(shots)
    ]
    return manifest(rows, **more)


def by_split(done: Cut) -> dict[str, list[str]]:
    rows = done.manifest
    return {
        split: rows.paths[rows.splits == split].tolist() for split in ("train", "query", "gallery")
    }


def pids_of(done: Cut, *splits: str) -> set[str]:
    rows = done.manifest
    return {str(pid) for pid in rows.pids[np.isin(rows.splits, splits)].tolist()}


def queries_without_match(rows: Manifest) -> list[str]:
    """Go through every pair, slowly."""
    gallery = rows.select("gallery")
    alone = []
    query = rows.select("query")
    for path, pid, camera in zip(query.paths, query.pids, query.camids, strict=True):
        fits = [
            other_pid == pid and (camera != other or not rows.has_cameras)
            for other_pid, other in zip(gallery.pids, gallery.camids, strict=True)
        ]
        if not any(fits):
            alone.append(str(path))
    return alone


def random_set(seed: int) -> Manifest:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(40, 120))
    rows = [(f"p{rng.integers(12)}", int(rng.integers(4))) for _ in range(count)]
    times = rng.integers(0, 30, count).astype(float).tolist()
    return manifest(rows, times=times)


def test_a_regular_set_is_cut_as_it_can_be_counted() -> None:
    done = cut(grid(10, 3, 4), SplitRule())
    counts = {split: tuple(done.manifest.count(split)) for split in ("train", "query", "gallery")}
    assert counts == {"train": (84, 7), "query": (9, 3), "gallery": (27, 3)}
    assert (done.unknown, done.leftover, done.left_out) == (0, 0, {})


@pytest.mark.parametrize("by", ["identity", "time", "camera"])
@pytest.mark.parametrize("seed", range(8))
def test_identities_are_disjoint_and_each_query_has_a_match(by: str, seed: int) -> None:
    source = random_set(seed)
    done = cut(source, SplitRule(by=by, seed=seed, query=2))  # type: ignore[arg-type]
    assert not pids_of(done, "train") & pids_of(done, "query", "gallery")
    assert queries_without_match(done.manifest) == []
    paths = done.manifest.paths.tolist()
    assert len(set(paths)) == len(paths)
    assert len(paths) + sum(done.left_out.values()) == len(source)


def test_the_same_seed_cuts_alike_whatever_the_order_of_the_rows() -> None:
    source = random_set(3)
    shuffled = source.take(np.random.default_rng(0).permutation(len(source)))
    first, second = (by_split(cut(one, SplitRule(seed=5))) for one in (source, shuffled))
    assert first == second
    assert first != by_split(cut(source, SplitRule(seed=6)))


def test_another_process_cuts_alike() -> None:
    code = (
        "import numpy as np; from pathlib import Path;"
        "from reid_core.data.manifest import Manifest;"
        "from reid_core.data.splitting.cut import cut;"
        "from reid_core.data.splitting.rule import SplitRule;"
        "pids = np.repeat(np.array([f'p{n}' for n in range(9)]), 4);"
        "m = Manifest(name='x', root=Path('x'), paths=np.array([f'{n}.jpg' for n in range(36)]),"
        "pids=pids, camids=np.arange(36) % 2, splits=np.array(['train'] * 36));"
        "print(','.join(cut(m, SplitRule()).manifest.select('query').paths.tolist()))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1
    assert "jpg" in outputs.pop()


def test_splits_that_the_data_had_are_left_aside() -> None:
    source = grid(6, 2, 2)
    other = replace(source, splits=np.array(["train"] * len(source)))
    assert by_split(cut(source, SplitRule())) == by_split(cut(other, SplitRule()))


def test_names_of_both_old_parts_are_told_for_they_may_be_two() -> None:
    source = grid(6, 2, 2)
    pids = np.unique(source.pids)
    is_shared = np.isin(source.pids, pids[:2])
    alternate = np.where(np.arange(len(source)) % 2, "train", "gallery")
    splits = np.where(is_shared, alternate, "train")
    (remark,) = cut(replace(source, splits=splits), SplitRule()).remarks
    assert remark.startswith(
        f"2 identities were both in training and in the test, for example {pids[0]}, and each is "
    )
    assert cut(source, SplitRule()).remarks == ()


@pytest.mark.parametrize("leftover", ["train", "gallery", "drop"])
def test_identities_that_cannot_be_tested_go_where_the_rule_says(leftover: str) -> None:
    rows = [(f"p{pid}", camera) for pid in range(6) for camera in (0, 1)]
    rows += [("single", 0), ("one_camera", 1), ("one_camera", 1)]
    done = cut(manifest(rows), SplitRule(leftover=leftover))  # type: ignore[arg-type]
    assert done.leftover == 2
    assert done.leftover_reason.startswith("not seen by two cameras; they went ")
    alone = {"single", "one_camera"}
    if leftover == "drop":
        assert not alone & pids_of(done, "train", "query", "gallery")
        assert done.left_out == {"of identities that cannot be tested": 3}
    else:
        assert alone <= pids_of(done, leftover)
        assert not alone & pids_of(done, "query")
        assert done.left_out == {}


def test_distractors_go_to_the_gallery() -> None:
    source = grid(4, 2, 2)
    pids = np.array([0, 0, *np.repeat(np.arange(1, 8), 2)])
    source = replace(source, pids=pids, camids=np.arange(16) % 2, distractors=(0,))
    done = cut(source, SplitRule())
    rows = done.manifest
    assert set(rows.splits[rows.pids == 0].tolist()) == {"gallery"}


def test_frames_of_a_track_are_apart_in_time_without_cameras() -> None:
    frames = list(range(30)) * 4
    rows = [(f"t{track}", 0) for track in range(4) for _ in range(30)]
    source = manifest(rows, has_cameras=False, frames=frames)
    done = cut(source, SplitRule(test=2, query=3))
    assert done.remarks == ("queries and gallery of an identity are apart in time",)
    for pid in pids_of(done, "query"):
        of_pid = done.manifest.take(np.flatnonzero(done.manifest.pids == pid))
        asked = of_pid.select("query").columns["frames"]
        searched = of_pid.select("gallery").columns["frames"]
        assert len(asked) == 3
        assert (int(searched.min()), int(searched.max())) == (0, 9)
        assert int(asked.min()) >= 20
    # 10 between, and 7 of the last third that were not drawn, of each of the two.
    assert done.left_out == {"of test identities, later than the gallery and no query": 34}
    mixed = cut(source, SplitRule(test=2, query=3, mix_times=True))
    assert mixed.left_out == {}
    assert mixed.remarks == ()


def test_by_time_trains_and_searches_what_is_earlier() -> None:
    rows = [(f"p{pid}", camera) for pid in range(6) for camera in (0, 1, 0, 1)]
    times = [float(pid + 10 * shot) for pid in range(6) for shot in range(4)]
    done = cut(manifest(rows, times=times), SplitRule(by="time", test=2))
    time_of = {
        split: done.manifest.select(split).columns["times"]  # type: ignore[arg-type]
        for split in ("train", "query", "gallery")
    }
    assert max(time_of["train"].max(), time_of["gallery"].max()) < time_of["query"].min()
    assert len(time_of["query"]) == 4
    assert done.left_out == {"too late for train, or without a time": 8}


def test_by_camera_holds_cameras_out_of_training() -> None:
    done = cut(grid(8, 4, 2), SplitRule(by="camera", cameras=("3", "1"), test=4))
    rows = done.manifest
    assert set(rows.select("train").camids.tolist()) == {0, 2}
    tested = rows.take(np.flatnonzero(rows.splits != "train"))
    assert set(tested.camids.tolist()) == {1, 3}
    assert done.remarks == ("cameras held out: 1, 3",)
    assert done.left_out == {
        "of test identities, in training cameras": 16,
        "of training identities, in cameras held out": 16,
    }


def test_by_camera_draws_two_cameras_at_least() -> None:
    done = cut(grid(8, 3, 2), SplitRule(by="camera", test=0.1))
    assert len(done.remarks[0].removeprefix("cameras held out: ").split(", ")) == 2


def test_unknown_identities_have_queries_and_no_gallery() -> None:
    done = cut(grid(20, 3, 3), SplitRule(test=10, open_set=0.3))
    assert done.unknown == 3
    alone = pids_of(done, "query") - pids_of(done, "gallery")
    assert len(alone) == 3
    assert len(queries_without_match(done.manifest)) == 9
    assert done.left_out == {"of unknown identities, not drawn as a query": 18}
    known = cut(grid(20, 3, 3), SplitRule(test=10))
    assert pids_of(known, "query") == pids_of(done, "query")


def test_at_least_one_test_identity_is_known() -> None:
    done = cut(grid(6, 2, 2), SplitRule(test=2, open_set=0.99))
    assert done.unknown == 1


def test_a_small_share_of_unknown_identities_is_one_at_least() -> None:
    done = cut(grid(6, 2, 2), SplitRule(test=3, open_set=0.1))
    assert done.unknown == 1
    assert len(pids_of(done, "query") - pids_of(done, "gallery")) == 1


def test_published_counts_do_not_hold_for_a_cut() -> None:
    source = replace(grid(6, 2, 2), expected={"train": (1, 1)})
    assert cut(source, SplitRule()).manifest.expected == {}


#: One identity that can be tested, seen by cameras 0 and 1; two of camera 0, one of camera 2.
ONE_FITS = manifest([("a", 0), ("a", 1), ("b", 0), ("c", 0), ("d", 2)])
#: One identity before and after the middle of the time, one before it, and two after it.
LATE = manifest(
    [("a", 0), ("a", 0), ("a", 1), ("b", 0), ("c", 0), ("d", 0)], frames=[1, 2, 9, 3, 8, 10]
)


@pytest.mark.parametrize(
    ("source", "rule", "message"),
    [
        (grid(6, 1, 4), SplitRule(), "none has images of two cameras, so no query has a match in "
         "another one; --ignore-cameras cuts the set without regard to cameras"),
        (grid(6, 1, 1, has_cameras=False), SplitRule(), "none has two images; add images"),
        (manifest([(one, 0) for one in "aabbcc"], has_cameras=False, frames=[1] * 6), SplitRule(),
         "none has images of two moments; --mix-times cuts the set"),
        (grid(6, 2, 1), SplitRule(test=7), "--test 7: only 6 of 6 identities can be tested; lower"),
        (grid(6, 2, 1), SplitRule(test=5),
         "leave 1 of its 6 identities to train on, and training needs two; lower --test"),
        (grid(2, 2, 2), SplitRule(), "it has 2 identities, and a split needs 3 at least, two to "
         "train on and one to test; check how identities are read ('reid-data stats'), or add"),
        (grid(1, 2, 2), SplitRule(test=1), "it has 1 identity, and a split needs 3 at least"),
        (ONE_FITS, SplitRule(leftover="drop"), "leave 0 of its 4 identities to train on, and "
         "training needs two; --leftover train also trains on those that cannot be tested"),
        (ONE_FITS, SplitRule(by="camera", cameras=("0", "1")), "leave 1 of its 4 identities to "
         "train on, and training needs two; hold out other cameras by --cameras, or cut it --by"),
        (LATE, SplitRule(by="time"), "training needs two; the others have no image before the "
         "middle of the time; cut it --by identity"),
        (grid(6, 2, 1, has_cameras=False), SplitRule(by="camera"), "--by camera needs cameras"),
        (grid(6, 3, 1), SplitRule(by="camera", cameras=("7", "1")),
         "--cameras 7: no such camera; it has 0, 1, 2"),
        (grid(6, 3, 1), SplitRule(by="camera", cameras=("1",)), "got 1 of 3; use --cameras"),
        (grid(6, 2, 1), SplitRule(by="camera"), "leaves at least one to train on"),
        (grid(6, 2, 1), SplitRule(by="time"), "--by time needs a column times"),
        (grid(6, 2, 2), SplitRule(test=1, open_set=0.1),
         "--open-set 0.1 needs two test identities at least, one that is known and one that is "
         "not; got 1; raise --test"),
    ],
)  # fmt: skip
def test_what_cannot_be_cut_says_why_and_what_to_do(
    source: Manifest, rule: SplitRule, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        cut(source, rule)
    assert str(caught.value).startswith("data set mine: ")
    assert message in str(caught.value)
