"""tracklets: frames are pooled, and tracklets search tracklets."""

import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError, DataError, UsageError
from reid_core.evaluation import (
    Embeddings,
    evaluate_distances,
    evaluate_retrieval,
    match_coverage,
    tracklets,
)


def frames(features, pids, camids, groups):
    return Embeddings(
        torch.tensor(features, dtype=torch.float32),
        np.array(pids),
        np.array(camids),
        {"tracklets": np.array(groups)},
    )


QUERY = frames([[1, 0], [0, 4]], [1, 1], [0, 0], [7, 7])
# Tracklet 3 is of the query's identity, 4 of another, 5 in the query's own camera.
GALLERY = frames(
    [[0, 2], [2, 0], [3, 0], [1, 0], [1, 1]],
    [2, 1, 1, 2, 1],
    [1, 1, 1, 1, 0],
    [4, 3, 3, 4, 5],
)


def test_frames_are_normalised_and_averaged_and_count_as_one():
    prepared = tracklets().prepare(QUERY, GALLERY)
    assert prepared.query.features.tolist() == [[0.5, 0.5]]
    # In the order of their first frames: tracklets 4, 3, 5.
    assert prepared.gallery.features[:2].tolist() == [[0.5, 0.5], [1.0, 0.0]]
    assert prepared.gallery.labels.pids.tolist() == [2, 1, 1]
    assert prepared.gallery_rows.tolist() == [0, 1, 4]
    # The query (1, 1) is at 0 from tracklet 4 and at 45 degrees from its match 3; 5 is left out.
    result = evaluate_retrieval(QUERY, GALLERY, protocol=tracklets())
    assert (result.mAP, result.rank(1)) == (0.5, 0.0)
    assert (result.num_queries, result.num_gallery) == (1, 3)
    assert result.num_candidates.tolist() == [2]
    assert "mean of its L2-normalised frames" in result.protocol_description


def test_raw_frames_weigh_by_their_length():
    prepared = tracklets(normalize=False).prepare(QUERY, GALLERY)
    assert prepared.query.features.tolist() == [[0.5, 2.0]]
    assert prepared.gallery.features[1].tolist() == [2.5, 0.0]


def test_the_maximum_is_taken_in_each_dimension():
    negative = frames([[-3, 1], [-2, -5]], [1, 1], [0, 0], ["a", "a"])
    prepared = tracklets(pooling="max", normalize=False).prepare(negative, GALLERY)
    assert prepared.query.features.tolist() == [[-2.0, 1.0]]


def test_many_groups_are_pooled_as_one_by_one():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 20, 200)
    features = rng.standard_normal((200, 3))
    side = frames(features, groups % 7, np.zeros(200, int), groups)
    pooled = tracklets(normalize=False).prepare(side, side).query
    for row, group in enumerate(pooled.columns["tracklets"]):
        expected = features[groups == group].mean(axis=0)
        np.testing.assert_allclose(pooled.features[row], expected, rtol=1e-4, atol=1e-5)
    assert len(pooled) == 20


def test_coverage_counts_tracklets():
    coverage = match_coverage(QUERY.labels, GALLERY.labels, protocol=tracklets())
    assert (coverage.num_queries, coverage.num_valid) == (1, 1)


@pytest.mark.parametrize(
    ("pids", "camids", "message"),
    [
        ([1, 2], [0, 0], r"tracklet 7 of the query mixes identities 1 and 2 \(row 1\)"),
        ([1, 1], [0, 3], r"tracklet 7 of the query mixes cameras 0 and 3 \(row 1\)"),
    ],
)
def test_a_tracklet_of_two_identities_or_cameras_is_refused(pids, camids, message):
    mixed = frames([[1, 0], [0, 1]], pids, camids, [7, 7])
    with pytest.raises(DataError, match=message):
        evaluate_retrieval(mixed, GALLERY, protocol=tracklets())


def test_a_set_without_tracklets_is_refused():
    plain = Embeddings(torch.ones(1, 2), np.array([1]), np.array([0]))
    with pytest.raises(DataError, match=r"needs the column tracklets"):
        match_coverage(plain.labels, plain.labels, protocol=tracklets())


def test_distances_of_frames_do_not_suffice():
    with pytest.raises(UsageError, match=r"tracklets joins embeddings .* call evaluate_retrieval"):
        evaluate_distances(np.zeros((2, 5)), QUERY.labels, GALLERY.labels, protocol=tracklets())


def test_another_pooling_is_refused():
    with pytest.raises(ConfigError, match=r"tracklets: pooling is 'sum'; expected 'mean' or 'max'"):
        tracklets(pooling="sum")
