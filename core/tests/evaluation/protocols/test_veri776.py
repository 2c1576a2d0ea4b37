import numpy as np
import pytest

from reid_core.errors import DataError
from reid_core.evaluation.protocols.veri776 import veri776, veri776_tracks


def test_a_track_is_as_far_as_its_nearest_image(points, evaluated):
    # Query of vehicle 1 in camera 0 at 0. Tracks, with their images' distances:
    #   11: vehicle 1, camera 0: 0.5, 6       left out, the query's camera
    #   12: vehicle 2, camera 1: 1, 9         at 1, a mistake
    #   13: vehicle 1, camera 1: 8, 2         at 2, rank 2
    #   14: vehicle 2, camera 2: 3, 4         at 3, a mistake
    #   15: vehicle 1, camera 2: 5            at 5, rank 4
    # AP = (1/2 + 2/4) / 2 = 1/2, INP = 2/4. Of images, the matches are at ranks 2, 5 and 6 of 7.
    gallery = points(
        [0.5, 6, 1, 9, 8, 2, 3, 4, 5],
        [1, 1, 2, 2, 1, 1, 2, 2, 1],
        [0, 0, 1, 1, 1, 1, 2, 2, 2],
        tracklets=[11, 11, 12, 12, 13, 13, 14, 14, 15],
    )
    query = points([0], [1], [0], tracklets=[-1])
    result = evaluated(query, gallery, veri776_tracks())
    assert (result.mAP, result.mINP) == (0.5, 0.5)
    assert result.cmc[:4].tolist() == [0, 1, 1, 1]
    assert result.num_candidates.tolist() == [4]
    assert result.num_matches.tolist() == [2]
    assert result.protocol == "veri776_tracks"
    assert "image to track" in result.protocol_description
    # The same images one by one: the matches are at ranks 2, 5 and 6.
    images = evaluated(query, gallery, veri776())
    assert images.mAP == pytest.approx((1 / 2 + 2 / 5 + 3 / 6) / 3)


def test_tracks_equal_the_smallest_distance_written_out(points, evaluated):
    rng = np.random.default_rng(1)
    tracks = np.repeat(np.arange(30), rng.integers(1, 5, 30))
    pids, camids = rng.integers(1, 5, 30), rng.integers(0, 3, 30)
    places = rng.normal(size=len(tracks))
    query_places, query_pids = rng.normal(size=8), rng.integers(1, 5, 8)
    order = rng.permutation(len(tracks))
    result = evaluated(
        points(query_places, query_pids, [0] * 8, tracklets=[-1] * 8),
        points(
            places[order],
            pids[tracks][order],
            camids[tracks][order],
            tracklets=tracks[order],
        ),
        veri776_tracks(),
    )
    for row, (place, pid) in enumerate(zip(query_places, query_pids, strict=True)):
        kept = [
            (min(abs(places[tracks == track] - place)), pids[track] == pid)
            for track in range(30)
            if (pids[track], camids[track]) != (pid, 0)
        ]
        hits = [is_match for _, is_match in sorted(kept)]
        precisions = [
            sum(hits[: rank + 1]) / (rank + 1) for rank, is_match in enumerate(hits) if is_match
        ]
        assert result.ap[row] == pytest.approx(np.mean(precisions))


def test_a_set_without_tracks_is_named_by_what_it_lacks(points, evaluated):
    with pytest.raises(DataError, match=r"needs the column tracklets"):
        evaluated(points([0], [1], [0]), points([1], [1], [1]), veri776_tracks())


def test_a_track_of_two_vehicles_is_refused(points, evaluated):
    with pytest.raises(DataError, match=r"protocol veri776_tracks: .*mixes identities 1 and 2"):
        evaluated(
            points([0], [1], [0], tracklets=[-1]),
            points([1, 2], [1, 2], [1, 1], tracklets=[4, 4]),
            veri776_tracks(),
        )
