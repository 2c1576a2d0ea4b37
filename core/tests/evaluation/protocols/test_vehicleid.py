import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Labels, evaluate_distances, no_camera
from reid_core.evaluation.protocols.vehicleid import vehicleid

#: Case B047: three vehicles with two, three and four images.
PIDS = [7] * 2 + [8] * 3 + [9] * 4


def labels(pids):
    return Labels(np.array(pids, dtype=np.int64), np.zeros(len(pids), dtype=np.int64))


def test_case_b047_gallery_and_probes_have_the_same_sizes_in_every_draw():
    trials = vehicleid().trials(labels(PIDS[:6]), labels(PIDS[6:7]))
    assert len(trials) == 10
    pids = np.array(PIDS)
    trials = vehicleid().trials(labels(PIDS), labels([]))
    for trial in trials:
        assert sorted(pids[trial.gallery].tolist()) == [7, 8, 9]
        assert len(trial.query) == 6
        assert sorted([*trial.gallery.tolist(), *trial.query.tolist()]) == list(range(9))
    assert len({tuple(sorted(trial.gallery.tolist())) for trial in trials}) > 3


def test_case_b047_the_same_seed_gives_the_same_mean_and_the_result_lists_the_draws(
    points, evaluated
):
    rng = np.random.default_rng(3)
    query, gallery = (
        points(rng.normal(size=6), [7, 8, 8, 9, 9, 9]),
        points(rng.normal(size=3), [7, 8, 9]),
    )
    first, again = (evaluated(query, gallery, vehicleid()) for _ in range(2))
    assert (first.mAP, first.cmc.tolist()) == (again.mAP, again.cmc.tolist())
    assert first.num_trials == 10
    assert "mean of 10 draws, seed 0" in first.protocol_description
    assert evaluated(query, gallery, vehicleid(seed=1)).mAP != first.mAP
    assert evaluated(query, gallery, vehicleid(draws=2)).num_trials == 2


def test_case_b047_a_gallery_larger_than_its_vehicles_is_exchanged_with_the_probes():
    with pytest.raises(
        DataError,
        match=r"vehicleid: the gallery has 6 images of 3 identities, and there are 3 queries; "
        r"expected a gallery of one image an identity.*exchange the splits query and gallery",
    ):
        vehicleid().trials(labels([7, 8, 9]), labels([7, 8, 8, 9, 9, 9]))


def test_a_probe_is_ranked_among_one_image_of_each_vehicle(points, evaluated):
    # Vehicle 7 is at 0 and 4, vehicle 8, with one image, at 1: it is in every gallery. Whichever
    # image of 7 is drawn, the probe is 4 from it and nearer to 8 (at 3, or at 1): rank 2, AP 1/2.
    result = evaluated(points([0, 4], [7, 7]), points([1], [8]), vehicleid())
    assert (result.mAP, result.rank(1), result.rank(5)) == (0.5, 0.0, 1.0)


def test_figures_are_means_of_the_draws(points, evaluated):
    rng = np.random.default_rng(5)
    places, pids = rng.normal(size=40), rng.integers(1, 9, 40)
    query, gallery = points(places[:32], pids[:32]), points(places[32:33], pids[32:33])
    result = evaluated(query, gallery, vehicleid(draws=4))
    singles = []
    for trial in vehicleid(draws=4).trials(query.labels, gallery.labels):
        distances = np.abs(places[trial.query][:, None] - places[trial.gallery])
        sides = labels(pids[trial.query]), labels(pids[trial.gallery])
        singles.append(evaluate_distances(distances, *sides, protocol=no_camera()))
    assert result.mAP == pytest.approx(np.mean([one.mAP for one in singles]))
    assert result.cmc == pytest.approx(np.mean([one.cmc for one in singles], axis=0))


def test_junk_is_in_neither_side():
    trials = vehicleid().trials(labels([-1, 7, -1, 7]), labels([]))
    assert all(set(trial.query) | set(trial.gallery) == {1, 3} for trial in trials)


def test_a_set_with_one_image_of_each_vehicle_is_refused():
    with pytest.raises(DataError, match=r"2 images of 2 identities, none with two"):
        vehicleid().trials(labels([7, 8]), labels([]))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"draws": 0}, "vehicleid: draws is 0; expected a whole number from 1 on"),
        ({"draws": True}, "draws is True"),
        ({"seed": -1}, "seed is -1; expected a whole number from 0 on"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        vehicleid(**parameters)
