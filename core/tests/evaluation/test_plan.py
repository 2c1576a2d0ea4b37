"""What protocols answer is checked, and no row ever searches itself."""

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import pytest
import torch

from reid_core.errors import DataError, PluginError, UsageError
from reid_core.evaluation import (
    AnyCamera,
    Embeddings,
    Labels,
    OtherCameras,
    Protocol,
    Trial,
    evaluate_distances,
    evaluate_retrieval,
    match_coverage,
)


def labels(pids, camids=None, **columns):
    camids = np.zeros(len(pids), dtype=int) if camids is None else np.array(camids)
    return Labels(np.array(pids), camids, {name: np.array(v) for name, v in columns.items()})


def rows(*numbers):
    return np.array(numbers, dtype=np.int64)


@dataclass(frozen=True)
class Cut(AnyCamera):
    """A protocol with the trials it is given."""

    given: tuple[Trial, ...] | None = field(default=None, compare=False)

    pools: ClassVar[bool] = True

    def trials(self, query, gallery):
        return self.given


def cut(*trials):
    return Cut("cut", "as given", given=trials)


SIDES = labels([1, 2]), labels([1, 2])


@pytest.mark.parametrize(
    ("protocol", "message"),
    [
        (Cut("cut", "none"), r"protocol cut: it says pools = True, and trials\(\) returned None"),
        (cut(), r"protocol cut: trials\(\) is empty; expected at least one"),
        (
            cut(Trial(rows(0, 4), rows(2))),
            r"protocol cut: trial 0: query names rows from 0 to 4; expected 0 to 3",
        ),
        (cut(Trial(rows(0), rows(2, 2))), r"trial 0: gallery names a row twice"),
        (cut(Trial(np.array([0.0]), rows(2))), r"trial 0: query is no array of integers"),
        (
            cut(Trial(rows(0, 1), rows(2, 3)), Trial(rows(0, 3), rows(2, 3))),
            r"protocol cut: trial 1 has row 3 as query and in the gallery, and excluded\(\) does",
        ),
    ],
)
def test_wrong_trials_are_refused_by_the_name_of_the_protocol(protocol, message):
    with pytest.raises(PluginError, match=message):
        match_coverage(*SIDES, protocol=protocol)
    with pytest.raises(PluginError, match=message):
        evaluate_retrieval(
            *(Embeddings(torch.eye(2), one.pids, one.camids) for one in SIDES), protocol=protocol
        )


def test_figures_are_means_over_the_trials_and_counts_are_of_what_was_asked():
    # Trial 0: query 0 finds its match first. Trial 1: gallery row 3 searches 0 and 2, and finds
    # nobody of identity 2. Trial 2: query 0 finds row 2 after row 1.
    protocol = cut(
        Trial(rows(0), rows(2, 3)), Trial(rows(2), rows(0, 3)), Trial(rows(0), rows(1, 2))
    )
    query = Embeddings(torch.tensor([[0.0], [1.0]]), rows(1, 2), rows(0, 0))
    gallery = Embeddings(torch.tensor([[2.0], [5.0]]), rows(1, 2), rows(0, 0))
    result = evaluate_retrieval(query, gallery, distance="euclidean", protocol=protocol)
    assert result.num_trials == 3
    assert result.mAP == pytest.approx((1 + 1 + 0.5) / 3)
    assert result.ap[[0, 2]].tolist() == [0.75, 1.0]
    assert (result.num_queries, result.num_valid_queries) == (1, 1)
    assert result.mean_matches == 1
    assert result.deviations["mAP"] == pytest.approx(np.std([1, 1, 0.5], ddof=1))
    assert result.num_skipped == 0


def test_coverage_over_trials_takes_a_query_as_valid_where_one_trial_has_its_match():
    protocol = cut(Trial(rows(0, 1), rows(2)), Trial(rows(1), rows(3)))
    coverage = match_coverage(labels([1, 2]), labels([1, 2]), protocol=protocol)
    assert (coverage.num_queries, coverage.num_valid, coverage.num_absent) == (2, 2, 0)
    once = match_coverage(labels([1, 2]), labels([1, 2]), protocol=cut(Trial(rows(0, 1), rows(2))))
    assert (once.num_valid, once.num_absent) == (1, 1)


def test_a_matrix_serves_trials_of_queries_against_gallery_entries():
    distances = np.array([[0.1, 0.2], [0.3, 0.9]])
    protocol = cut(Trial(rows(1), rows(3, 2)), Trial(rows(0), rows(2, 3)))
    result = evaluate_distances(distances, *SIDES, protocol=protocol)
    assert result.ap[:2].tolist() == [1.0, 0.5]
    assert result.num_trials == 2
    with pytest.raises(UsageError, match=r"protocol cut compares queries with each other"):
        evaluate_distances(distances, *SIDES, protocol=cut(Trial(rows(0), rows(1))))


@dataclass(frozen=True)
class Tracks(OtherCameras):
    """Image to track."""

    def grouped(self, gallery):
        return np.unique(gallery.column("tracks"), return_inverse=True)[1]


TRACKS = Tracks("tracks", "image to track")
# Track a: identity 2, images at .5 and .2. Track b: identity 1, at .3 and .9. Track c: identity 1
# in the query's own camera, at .1.
IMAGES = labels([1, 2, 1, 1, 2], [1, 1, 0, 1, 1], tracks=["b", "a", "c", "b", "a"])
QUERY = labels([1], [0], tracks=["q"])
DISTANCES = np.array([[0.9, 0.5, 0.1, 0.3, 0.2]])


def test_an_entry_is_as_far_as_its_nearest_image():
    result = evaluate_distances(DISTANCES, QUERY, IMAGES, protocol=TRACKS)
    # Of two tracks that count the match b (.3) is second, after a (.2).
    assert result.ap.tolist() == [0.5]
    assert result.num_candidates.tolist() == [2]
    assert result.num_matches.tolist() == [1]


def test_entries_of_embeddings_are_those_of_distances():
    query = Embeddings(torch.zeros(1, 1), QUERY.pids, QUERY.camids, QUERY.columns)
    gallery = Embeddings(
        torch.from_numpy(DISTANCES.T.astype(np.float32)), IMAGES.pids, IMAGES.camids, IMAGES.columns
    )
    result = evaluate_retrieval(query, gallery, distance="euclidean", protocol=TRACKS)
    assert result.ap.tolist() == [0.5]
    assert result.num_gallery == 5
    coverage = match_coverage(QUERY, IMAGES, protocol=TRACKS)
    assert (coverage.num_valid, coverage.num_queries) == (1, 1)


def test_an_entry_of_two_identities_is_refused():
    mixed = labels([1, 2], [1, 1], tracks=["a", "a"])
    with pytest.raises(DataError, match=r"entry 0 \(its first image is row 0\) mixes identities 1"):
        evaluate_distances(np.zeros((1, 2)), QUERY, mixed, protocol=TRACKS)


def test_groups_that_are_no_integers_are_refused():
    @dataclass(frozen=True)
    class Wrong(AnyCamera):
        def grouped(self, gallery):
            return gallery.column("tracks")

    with pytest.raises(PluginError, match=r"protocol wrong: grouped\(\) returned \(5,\) <U1; exp"):
        match_coverage(QUERY, IMAGES, protocol=Wrong("wrong", "text"))


def test_a_preparation_of_another_kind_is_refused():
    @dataclass(frozen=True)
    class Wrong(AnyCamera):
        def prepare(self, query, gallery):
            return query, gallery

    with pytest.raises(PluginError, match=r"prepare\(\) returned a tuple; expected a reid_core"):
        match_coverage(*SIDES, protocol=Wrong("wrong", "a tuple"))


def test_the_answers_a_plain_protocol_need_not_give_are_none():
    protocol = AnyCamera("plain", "plain")
    assert protocol.grouped(SIDES[1]) is None
    assert protocol.draws() is None
    assert protocol.without_cameras() is None
    assert Protocol.scoring == "images"
