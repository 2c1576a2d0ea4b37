import itertools

import numpy as np
import pytest

from reid_core.data.datasets.synthetic.cameras import (
    LENSES,
    Lens,
    blurred,
    expose,
    lens_of,
    tone_tables,
)
from reid_core.data.datasets.synthetic.difficulty import PROFILES
from reid_core.data.datasets.synthetic.streams import Stream

NEUTRAL = Lens(gains=(256, 256, 256), curve=0, saturation=256, lift=0, blur=0)


def some_scene() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (12, 8, 3)).astype(np.int32)


def test_a_neutral_camera_drops_only_the_last_three_bits():
    scene = some_scene()
    seen = expose(scene, NEUTRAL, 256, 0, Stream(0))
    assert seen.dtype == np.uint8
    np.testing.assert_array_equal(seen, scene // 8 * 8 + 4)


def test_blur_is_the_weighted_mean_of_nine():
    image = some_scene()
    got = blurred(image)
    height, width = image.shape[:2]
    for y, x, c in itertools.product(range(height), range(width), range(3)):
        total = 8
        for dy, dx in itertools.product((-1, 0, 1), repeat=2):
            row, column = min(max(y + dy, 0), height - 1), min(max(x + dx, 0), width - 1)
            total += (2 - abs(dy)) * (2 - abs(dx)) * int(image[row, column, c])
        assert got[y, x, c] == total // 16


@pytest.mark.parametrize("lens", LENSES)
def test_tone_curves_never_fall(lens):
    for table in tone_tables(lens, 256):
        assert (np.diff(table) >= 0).all()
        assert 0 <= table.min() <= table.max() <= 255
        assert len(np.unique(table)) > 90, "too little is left of the picture"


def test_no_saturation_makes_grey():
    grey = Lens(gains=(256, 256, 256), curve=0, saturation=0, lift=0, blur=0)
    seen = expose(some_scene(), grey, 256, 0, Stream(0))
    assert (seen == seen[..., :1]).all()


def test_noise_stays_within_its_size_and_is_centred():
    scene = np.full((128, 64, 3), 132, dtype=np.int32)
    seen = expose(scene, NEUTRAL, 256, 12, Stream(3)).astype(int) - 132
    assert np.abs(seen).max() <= 16, "twelve, and four for the dropped bits"
    assert np.abs(seen).max() > 4
    assert abs(seen.mean()) < 1


def test_light_brightens_and_darkens():
    means = [expose(some_scene(), NEUTRAL, light, 0, Stream(0)).mean() for light in (200, 256, 300)]
    assert means == sorted(means)
    assert means[0] < means[2] - 20


def test_every_camera_of_a_data_set_has_its_own_look():
    for seed in range(5):
        assert len({lens_of(seed, camera, PROFILES["normal"]) for camera in range(8)}) == 8


def test_an_easy_camera_is_nearer_to_neutral_than_a_hard_one():
    for camera in range(8):
        off = [
            sum(abs(gain - 256) for gain in lens_of(0, camera, PROFILES[name]).gains)
            for name in ("easy", "normal", "hard")
        ]
        assert off == sorted(off)
