import random

import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Labels, evaluate_distances, no_camera
from reid_core.evaluation.protocols.prcc import prcc


def test_all_of_the_gallery_is_searched(points, evaluated):
    # Identity 1 in clothes 3, camera 2; the gallery wears clothes 2. Matches at 1 and 3, a mistake
    # at 2: AP = (1 + 2/3) / 2. The camera makes no difference.
    result = evaluated(
        points([0], [1], [2], clothids=[3]),
        points([1, 2, 3], [1, 2, 1], [2, 0, 0], clothids=[2, 4, 2]),
        prcc(gallery="all"),
    )
    assert result.mAP == pytest.approx(5 / 6)
    assert result.num_trials == 1
    assert result.protocol_description.startswith("clothes changed: no match left out, gallery of")


def test_one_image_of_each_identity_is_drawn_ten_times(points, evaluated):
    # Identity 1 at 1 or at 3, identity 2 at 2: rank 1 where the nearer is drawn, else rank 2.
    # Python's generator seeded with the number of the draw says which.
    nearer = 0
    for draw in range(10):
        generator = random.Random(draw)
        nearer += generator.choice([1, 3]) == 1
    result = evaluated(
        points([0], [1], [2], clothids=[3]),
        points([1, 2, 3], [1, 2, 1], [0, 0, 0], clothids=[2, 4, 2]),
        prcc(),
    )
    assert 0 < nearer < 10
    assert result.rank(1) == pytest.approx(nearer / 10)
    assert result.mAP == pytest.approx(nearer / 10 + (10 - nearer) / 10 / 2)
    assert result.num_trials == 10
    assert "mean of 10 draws, seed 0" in result.protocol_description


def test_figures_are_means_of_the_draws(points, evaluated):
    rng = np.random.default_rng(6)
    places, pids = rng.normal(size=60), rng.integers(1, 8, 60)
    asked, asked_pids = rng.normal(size=20), rng.integers(1, 8, 20)
    result = evaluated(
        points(asked, asked_pids, clothids=2 * asked_pids + 1),
        points(places, pids, clothids=2 * pids),
        prcc(draws=3, seed=5),
    )
    singles = []
    for draw in (5, 6, 7):
        generator = random.Random(draw)
        rows = [generator.choice(np.flatnonzero(pids == pid).tolist()) for pid in sorted(set(pids))]
        singles.append(
            evaluate_distances(
                np.abs(asked[:, None] - places[rows]),
                Labels(asked_pids, np.zeros(20, dtype=np.int64)),
                Labels(pids[rows], np.zeros(len(rows), dtype=np.int64)),
                protocol=no_camera(),
            )
        )
    assert result.mAP == pytest.approx(np.mean([one.mAP for one in singles]))
    assert result.cmc == pytest.approx(np.mean([one.cmc for one in singles], axis=0))


def test_clothes_that_are_not_those_of_the_setting_are_refused(points):
    gallery = points([1, 2, 3], [1, 1, 2], clothids=[2, 2, 4]).labels
    same = points([0, 0], [1, 2], clothids=[2, 4]).labels
    changed = points([0, 0], [1, 2], clothids=[3, 5]).labels
    assert prcc(clothes="same", gallery="all").trials(same, gallery) is None
    with pytest.raises(
        DataError,
        match=r"prcc: clothes is changed, and 2 of 2 queries wear the clothes of gallery images.*"
        r"set clothes: changed on data set prcc, or clothes: same on the protocol",
    ):
        prcc().trials(same, gallery)
    with pytest.raises(
        DataError,
        match=r"clothes is same, and 2 of 2 queries wear other clothes .*clothes: changed",
    ):
        prcc(clothes="same").trials(changed, gallery)


def test_a_gallery_that_is_drawn_already_is_refused(points):
    query, gallery = (
        points([0], [1], clothids=[3]).labels,
        points([1, 2], [1, 2], clothids=[2, 4]).labels,
    )
    with pytest.raises(
        DataError, match=r"one image of each identity already, so 10 draws .*to all"
    ):
        prcc().trials(query, gallery)
    assert len(prcc(draws=1).trials(query, gallery)) == 1


def test_a_set_that_does_not_tell_clothes_is_refused(points, evaluated):
    with pytest.raises(DataError, match=r"needs the column clothids"):
        evaluated(points([0], [1]), points([1], [1]), prcc(gallery="all"))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clothes": "new"}, "clothes is 'new'; expected same or changed"),
        ({"gallery": "two"}, "gallery is 'two'; expected one or all"),
        ({"draws": 0}, "prcc: draws is 0"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        prcc(**parameters)
