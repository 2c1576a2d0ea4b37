import random
from dataclasses import replace

import numpy as np
import pytest

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation.protocols.sysu_mm01 import sysu_mm01

CAMERAS = {"all": (1, 2, 4, 5), "indoor": (1, 2)}


@pytest.fixture
def images(points):
    """Return embeddings with the columns that the data set gives."""

    def build(places, pids, camids, infrared=False):
        return points(
            places,
            pids,
            camids,
            modalities=["infrared" if infrared else "rgb"] * len(pids),
            places=[2 if camid == 3 else camid for camid in camids],
        )

    return build


def test_identities_count_once_in_the_cmc_and_camera_2_not_for_camera_3(images, evaluated):
    # Gallery, as distances from 0: identity 3 in camera 2 at 0.5, 1 in camera 2 at 1, then 2 in
    # cameras 1, 4 and 5 at 2, 3 and 3.5, 1 in cameras 1 and 4 at 4 and 6.
    # Query of 1 in camera 3: camera 2 is left out, of identity 3 too. 2 2 2 1 1:
    #   AP = (1/4 + 2/5) / 2 = 0.325, INP = 2/5; by identity 2 1: rank 1 0, rank 2 1.
    # Query of 1 in camera 6: nothing left out. 3 1 2 2 2 1 1:
    #   AP = (1/2 + 2/6 + 3/7) / 3 = 53/126, INP = 3/7; by identity 3 1 2: rank 2 1.
    gallery = images([0.5, 1, 2, 3, 3.5, 4, 6], [3, 1, 2, 2, 2, 1, 1], [2, 2, 1, 4, 5, 1, 4])
    result = evaluated(images([0, 0], [1, 1], [3, 6], infrared=True), gallery, sysu_mm01(draws=1))
    assert result.ap[:2] == pytest.approx([0.325, 53 / 126])
    assert result.inp[:2] == pytest.approx([2 / 5, 3 / 7])
    assert result.cmc[:3].tolist() == [0, 1, 1]
    assert result.num_candidates[:2].tolist() == [5, 7]


def published(query, gallery, mode, draw):
    """Evaluate one draw query by query, as the published code describes it."""
    generator = random.Random(draw)
    drawn = []
    for pid in sorted(set(gallery.pids.tolist())):
        for camera in CAMERAS[mode]:
            rows = np.flatnonzero((gallery.pids == pid) & (gallery.camids == camera)).tolist()
            if rows:
                drawn.append(generator.choice(rows))
    aps, inps, cmc = [], [], np.zeros(10)
    for pid, camid, place in zip(
        query.pids, query.camids, query.features[:, 0].numpy(), strict=True
    ):
        kept = [row for row in drawn if not (camid == 3 and gallery.camids[row] == 2)]
        kept.sort(key=lambda row: abs(float(gallery.features[row, 0]) - float(place)))
        found = [int(gallery.pids[row]) for row in kept]
        ranks = [rank for rank, other in enumerate(found, 1) if other == pid]
        if not ranks:
            continue
        aps.append(np.mean([number / rank for number, rank in enumerate(ranks, 1)]))
        inps.append(len(ranks) / ranks[-1])
        cmc[list(dict.fromkeys(found)).index(pid) :] += 1
    return np.mean(aps), np.mean(inps), cmc / len(aps)


@pytest.mark.parametrize("mode", ["all", "indoor"])
def test_ten_draws_equal_the_published_code_written_out(mode, images, evaluated):
    rng = np.random.default_rng(2)
    gallery = images(rng.normal(size=200), rng.integers(1, 13, 200), rng.choice([1, 2, 4, 5], 200))
    query = images(
        rng.normal(size=30), rng.integers(1, 13, 30), rng.choice([3, 6], 30), infrared=True
    )
    result = evaluated(query, gallery, sysu_mm01(mode=mode))
    draws = [published(query, gallery, mode, draw) for draw in range(10)]
    assert result.mAP == pytest.approx(np.mean([ap for ap, _, _ in draws]), abs=1e-9)
    assert result.mINP == pytest.approx(np.mean([inp for _, inp, _ in draws]), abs=1e-9)
    assert result.cmc[:10] == pytest.approx(np.mean([cmc for _, _, cmc in draws], axis=0))
    assert result.num_trials == 10
    assert f"{mode} search" in result.protocol_description
    assert "mean of 10 draws, seed 0" in result.protocol_description


def test_a_multi_shot_gallery_has_ten_images_or_all_there_are(images):
    gallery = images(
        np.zeros(47), [1] * 12 + [2] * 35, [1] * 12 + [1] * 3 + [2] * 30 + [4, 5]
    ).labels
    query = images([0], [1], [6], infrared=True).labels
    for trial in sysu_mm01(shots=10).trials(query, gallery):
        rows = trial.gallery - 1
        assert len(set(rows.tolist())) == len(rows) == 10 + 3 + 10 + 1 + 1
        assert (gallery.pids[rows] == 1).sum() == 10


def test_the_seed_is_the_number_of_the_first_draw(images):
    rng = np.random.default_rng(4)
    gallery = images(rng.normal(size=90), rng.integers(1, 9, 90), rng.choice([1, 2, 4, 5], 90))
    sides = images([0], [1], [6], infrared=True).labels, gallery.labels
    later = sysu_mm01(draws=2, seed=3).trials(*sides)
    assert [trial.gallery.tolist() for trial in later] == [
        trial.gallery.tolist() for trial in sysu_mm01().trials(*sides)[3:5]
    ]


@pytest.fixture
def sides(images):
    return (
        images([0], [1], [6], infrared=True).labels,
        images([1, 2, 3, 4, 5], [1] * 5, [1, 1, 2, 4, 5]).labels,
    )


def test_visible_queries_and_infrared_galleries_are_refused(sides):
    query, gallery = sides
    with pytest.raises(
        DataError, match=r"sysu_mm01: all query images must be infrared .*of 5 5 are rgb; choose"
    ):
        sysu_mm01().trials(gallery, gallery)
    with pytest.raises(DataError, match=r"all gallery images must be rgb .*of 1 1 are infrared"):
        sysu_mm01().trials(query, query)


def test_a_gallery_that_lacks_a_camera_of_the_mode_is_refused(sides):
    query, gallery = sides
    indoor = gallery.take(np.arange(3))
    assert len(sysu_mm01(mode="indoor").trials(query, indoor)) == 10
    with pytest.raises(
        DataError, match=r"mode all searches cameras 1, 2, 4, 5, and the gallery has 1, 2; expected"
    ):
        sysu_mm01().trials(query, indoor)


def test_a_gallery_that_is_drawn_already_is_refused(sides):
    query, gallery = sides
    drawn = gallery.take(np.array([0, 2, 3, 4]))
    with pytest.raises(
        DataError, match=r"one image of each identity and camera already, so 10 draws .*draw"
    ):
        sysu_mm01().trials(query, drawn)
    (trial,) = sysu_mm01(draws=1).trials(query, drawn)
    assert trial.gallery.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("column", ["modalities", "places"])
def test_a_missing_column_is_named(column, images, evaluated):
    query, gallery = (
        images([0], [1], [6], infrared=True),
        images([1, 2, 3, 4, 5], [1] * 5, [1, 1, 2, 4, 5]),
    )
    query, gallery = (
        replace(side, columns={n: c for n, c in side.columns.items() if n != column})
        for side in (query, gallery)
    )
    with pytest.raises(DataError, match=f"needs the column {column}"):
        evaluated(query, gallery, sysu_mm01())


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "outdoor"}, "mode is 'outdoor'; expected all or indoor"),
        ({"shots": 2}, "shots is 2; expected 1 or 10"),
        ({"draws": 0}, "sysu_mm01: draws is 0"),
    ],
)
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ConfigError, match=message):
        sysu_mm01(**parameters)
