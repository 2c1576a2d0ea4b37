"""Each way of finding places is compared with counting, entry by entry."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from reid_core.errors import PluginError
from reid_core.evaluation import AnyCamera, Labels, OtherCameras, Protocol
from reid_core.evaluation import matches as matches_module
from reid_core.evaluation.matches import MatchFinder

FIELDS = ("query", "before", "tied", "num_matches", "num_candidates")


@dataclass(frozen=True)
class Unpromised(OtherCameras):
    """The same rule, without the promise that it leaves out entries of the query's pid alone."""

    excludes_own_pid_only: ClassVar[bool] = False


@dataclass(frozen=True)
class WrongShape(OtherCameras):
    def excluded(self, query, gallery):
        return np.zeros((1, 1), dtype=bool)


def labels(size, seed, *, pids=6):
    rng = np.random.default_rng(seed)
    return Labels(rng.integers(-1, pids, size), rng.integers(0, 3, size))


def plainly(distances, query, gallery, protocol):
    excluded = protocol.excluded(query, gallery)
    rows = []
    for row, pid in enumerate(query.pids):
        kept = [d for d, gone in zip(distances[row], excluded[row], strict=True) if not gone]
        places = []
        for column in np.flatnonzero((gallery.pids == pid) & ~excluded[row]):
            value = distances[row, column]
            before = sum(bool(d < value) for d in kept)
            places.append((row, before, sum(bool(d == value) for d in kept)))
        rows.append((sorted(places), len(kept)))
    flat = np.array([place for places, _ in rows for place in places]).reshape(-1, 3)
    return *flat.T, [len(places) for places, _ in rows], [kept for _, kept in rows]


@pytest.mark.parametrize("junk", [-1, -7, 2])
@pytest.mark.parametrize("kind", [OtherCameras, AnyCamera, Unpromised])
@pytest.mark.parametrize("passes", [0, 90, 10**9], ids=["sorted", "either", "counted"])
@pytest.mark.parametrize("levels", [5, 10**6], ids=["tied", "untied"])
def test_every_way_gives_what_counting_gives(kind, junk, passes, levels, monkeypatch):
    monkeypatch.setattr(matches_module, "SORT_PASSES", passes)
    query, gallery = labels(12, 0, pids=8), labels(300, 1)
    distances = np.random.default_rng(2).integers(0, levels, (12, 300)).astype(np.float32)
    protocol = kind(name="test", description="", junk_pid=junk)
    ranks = MatchFinder(gallery, protocol=protocol).rank(distances, query)
    for name, expected in zip(FIELDS, plainly(distances, query, gallery, protocol), strict=True):
        assert getattr(ranks, name).tolist() == list(expected), name


def test_the_promise_saves_asking_about_the_whole_gallery(monkeypatch):
    asked = []
    excluded = OtherCameras.excluded

    def counting(self, query, gallery):
        asked.append(len(gallery))
        return excluded(self, query, gallery)

    monkeypatch.setattr(OtherCameras, "excluded", counting)
    query, gallery = labels(4, 0, pids=100), labels(1000, 1, pids=100)
    protocol = OtherCameras(name="test", description="")
    MatchFinder(gallery, protocol=protocol).rank(np.ones((4, 1000), dtype=np.float32), query)
    assert asked == [int(np.isin(gallery.pids, query.pids[query.pids >= 0]).sum())]


def test_distances_are_left_as_they_were():
    query, gallery = labels(5, 0), labels(40, 1)
    distances = np.random.default_rng(2).random((5, 40), dtype=np.float32)
    before = distances.copy()
    protocol: Protocol = OtherCameras(name="test", description="")
    MatchFinder(gallery, protocol=protocol).rank(distances, query)
    np.testing.assert_array_equal(distances, before)


@pytest.mark.parametrize("size", [0, 3])
def test_a_block_without_matches_or_queries_has_no_places(size):
    query, gallery = Labels(np.full(size, 9), np.zeros(size, np.int64)), labels(40, 1)
    protocol = OtherCameras(name="test", description="", junk_pid=-7)
    ranks = MatchFinder(gallery, protocol=protocol).rank(np.ones((size, 40)), query)
    assert ranks.before.tolist() == ranks.tied.tolist() == []
    assert ranks.num_candidates.tolist() == [40] * size


def test_an_answer_of_the_wrong_shape_names_the_protocol():
    query, gallery = labels(5, 0), labels(40, 1)
    protocol = WrongShape(name="odd", description="")
    with pytest.raises(PluginError, match=r"protocol odd: excluded\(\) returned \(1, 1\) bool"):
        MatchFinder(gallery, protocol=protocol).rank(np.ones((5, 40)), query)


@pytest.mark.parametrize("protocol", [OtherCameras("a", "a"), Unpromised("b", "b")])
def test_several_threads_give_the_ranks_of_one(protocol, monkeypatch):
    rng = np.random.default_rng(3)
    query, gallery = labels(11, 3), labels(60, 4)
    distances = rng.integers(0, 20, (11, 60)).astype(np.float32)
    alone = MatchFinder(gallery, protocol=protocol).rank(distances, query)
    used = []

    class Pool(ThreadPoolExecutor):
        def __init__(self, number):
            used.append(number)
            super().__init__(number)

    monkeypatch.setattr(matches_module, "ThreadPoolExecutor", Pool)
    monkeypatch.setattr(matches_module, "THREADED_VALUES", 1)
    monkeypatch.setattr("torch.get_num_threads", lambda: 3)
    together = MatchFinder(gallery, protocol=protocol).rank(distances, query)
    assert used == [3]
    for field in FIELDS:
        assert np.array_equal(getattr(together, field), getattr(alone, field)), field
