"""Places, shots and whole pictures."""

from dataclasses import replace

import numpy as np
import pytest

from reid_core.data.datasets.synthetic.backgrounds import (
    FLOORS,
    WALLS,
    Place,
    paint_place,
    place_of,
)
from reid_core.data.datasets.synthetic.cameras import lens_of
from reid_core.data.datasets.synthetic.difficulty import PROFILES
from reid_core.data.datasets.synthetic.people import stranger
from reid_core.data.datasets.synthetic.scene import Camera, draw
from reid_core.data.datasets.synthetic.shots import VIEWS, take_shot
from reid_core.data.datasets.synthetic.streams import Stream

NORMAL = PROFILES["normal"]
CAMERA = Camera(place_of(0, 0), lens_of(0, 0, NORMAL))


@pytest.mark.parametrize("wall", WALLS)
@pytest.mark.parametrize("floor", FLOORS)
def test_wall_and_floor_meet_at_the_horizon(wall, floor):
    place = Place(wall, (0, 0, 200), floor, (200, 0, 0), horizon=70)
    scene = paint_place(place, 3, Stream(0))
    assert scene.shape == (256, 128, 3)
    assert scene.dtype == np.uint8
    assert not scene[:140, :, 0].any()
    assert not scene[140:, :, 2].any()
    assert (scene[:140, :, 2] > 0).all()
    assert (scene[140:, :, 0] > 0).all()


def test_scrolling_moves_the_wall():
    place = Place("bricks", (0, 0, 200), "plain", (200, 0, 0), horizon=70)
    assert (paint_place(place, 0, Stream(0)) != paint_place(place, 5, Stream(0))).any()


def test_shots_come_from_every_side_and_as_often_hidden_as_the_profile_says():
    shots = [take_shot(Stream(0, index), PROFILES["hard"]) for index in range(500)]
    assert {shot.view for shot in shots} == set(VIEWS)
    hidden = sum(shot.obstacle != "none" for shot in shots)
    crowded = sum(shot.passer_by is not None for shot in shots)
    assert 60 < hidden < 140
    assert 60 < crowded < 140


def test_nothing_hides_people_where_the_profile_says_so():
    profile = replace(NORMAL, obstacle_percent=0, passer_by_percent=0)
    shots = [take_shot(Stream(0, index), profile) for index in range(100)]
    assert all(shot.obstacle == "none" and shot.passer_by is None for shot in shots)


def test_the_same_stream_draws_the_same_picture():
    person = stranger(Stream(1))
    first, again = (draw(person, CAMERA, NORMAL, Stream(2)) for _ in range(2))
    assert first.shape == (128, 64, 3)
    assert first.dtype == np.uint8
    np.testing.assert_array_equal(first, again)


def test_the_person_is_in_the_picture():
    profile = replace(NORMAL, obstacle_percent=0, passer_by_percent=0, noise=0)
    person = stranger(Stream(1))
    empty, full = (draw(who, CAMERA, profile, Stream(2)) for who in (None, person))
    changed = (empty != full).any(axis=2)
    assert 0.1 < changed.mean() < 0.6
    assert changed[:, 24:40].mean() > 2 * changed[:, :8].mean()


def test_noise_is_the_only_difference_of_a_noiseless_picture():
    person = stranger(Stream(1))
    quiet = draw(person, CAMERA, replace(NORMAL, noise=0), Stream(2)).astype(int)
    noisy = draw(person, CAMERA, NORMAL, Stream(2)).astype(int)
    assert 0 < np.abs(noisy - quiet).max() <= NORMAL.noise + 8
