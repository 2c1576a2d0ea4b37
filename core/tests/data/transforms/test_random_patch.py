import numpy as np
import pytest
import torch
from PIL import Image

from reid_core.data.transforms.random_patch import RandomPatch
from reid_core.errors import ConfigError

PLAIN = {"probability": 1.0, "flip_probability": 0.0, "turn_probability": 0.0}


def numbered(count=6, height=24, width=16):
    """Images whose pixels say where they come from: each has its own value."""
    return torch.arange(count * 3 * height * width).float().view(count, 3, height, width)


def changed_box(before, after):
    rows, columns = (after != before).any(dim=0).nonzero(as_tuple=True)
    return slice(rows.min(), rows.max() + 1), slice(columns.min(), columns.max() + 1)


def test_a_patch_is_a_part_of_another_image_as_it_was_before():
    before = numbered()
    for seed in range(20):
        after = RandomPatch(**PLAIN)(before.clone(), np.random.default_rng(seed))
        for row in range(6):
            y, x = changed_box(before[row], after[row])
            patch = after[row, :, y, x]
            source, rest = divmod(int(patch[0, 0, 0]), 3 * 24 * 16)
            top, left = divmod(rest, 16)
            assert source != row
            height, width = patch.shape[-2:]
            part = before[source, :, top : top + height, left : left + width]
            assert torch.equal(patch, part)
            kept = before[row].clone()
            kept[:, y, x] = patch
            assert torch.equal(after[row], kept)


def test_every_other_image_is_a_source_and_every_place_a_target():
    before, sources, corners = numbered(4), set(), []
    for seed in range(200):
        after = RandomPatch(**PLAIN)(before.clone(), np.random.default_rng(seed))
        y, x = changed_box(before[1], after[1])
        sources.add(int(after[1, 0, y, x][0, 0]) // (3 * 24 * 16))
        corners.append((int(y.start), int(x.start), int(y.stop), int(x.stop)))
    assert sources == {0, 2, 3}
    low, high = np.min(corners, axis=0), np.max(corners, axis=0)
    assert low[:2].tolist() == [0, 0]
    assert high[2:].tolist() == [24, 16]


def test_shares_and_ratios_stay_within_bounds():
    before, shares = numbered(8, 60, 40), []
    patch = RandomPatch(**PLAIN, area=(0.1, 0.3), aspect=(0.5, 2.0))
    for seed in range(10):
        after = patch(before.clone(), np.random.default_rng(seed))
        for row in range(8):
            y, x = changed_box(before[row], after[row])
            height, width = y.stop - y.start, x.stop - x.start
            shares.append(int(height * width) / 2400)
            assert 0.47 < height / width < 2.1
    assert 0.09 < min(shares) < 0.15
    assert 0.25 < max(shares) < 0.31


def test_a_flipped_patch_is_mirrored():
    before = numbered()
    parameters = {**PLAIN, "flip_probability": 1.0}
    after = RandomPatch(**parameters)(before.clone(), np.random.default_rng(0))
    plain = RandomPatch(**PLAIN)(before.clone(), np.random.default_rng(0))
    # The same rectangles: whether a patch is mirrored is drawn either way.
    for row in range(6):
        y, x = changed_box(before[row], plain[row])
        assert torch.equal(after[row, :, y, x], plain[row, :, y, x].flip(-1))


def test_a_turned_patch_is_that_of_pillow_with_black_corners():
    mean, std = (0.5, 0.4, 0.3), (0.5, 0.2, 0.1)
    black = torch.tensor([-m / s for m, s in zip(mean, std, strict=True)])
    turning = RandomPatch(
        probability=1.0,
        area=(0.4, 0.49),
        aspect=(1.0, 1.5),
        flip_probability=0.0,
        turn_probability=1.0,
        image_mean=mean,
        image_std=std,
    )
    before = torch.rand(2, 3, 60, 50) + 5
    patch = before[1, :, 10:40, 5:30]
    seen = set()
    for seed in range(60):
        rng = np.random.default_rng(seed)
        rng.random(2)
        degrees = int(rng.integers(-10, 11))
        seen.add(degrees)
        made = turning._changed(patch.clone(), np.random.default_rng(seed))
        different = 0.0
        for channel in range(3):
            expected = np.asarray(
                Image.fromarray(patch[channel].numpy()).rotate(
                    degrees, fillcolor=float(black[channel])
                )
            )
            different += (np.abs(made[channel].numpy() - expected) > 1e-5).mean() / 3
        assert different < 0.03
    assert seen >= {-10, 10}


def test_the_probability_is_kept_and_a_single_image_stays():
    before = numbered(400, 8, 8)
    after = RandomPatch(probability=0.3)(before.clone(), np.random.default_rng(0))
    changed = (after != before).flatten(1).any(dim=1).float().mean()
    assert 0.22 < changed < 0.38
    single = numbered(1)
    assert torch.equal(RandomPatch(**PLAIN)(single.clone(), np.random.default_rng(0)), single)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"probability": 2}, "random_patch: probability is 2"),
        ({"area": (0.0, 0.5)}, r"random_patch: area is \(0.0, 0.5\)"),
        ({"area": (0.5, 1.0)}, "area reaches 1, the whole image"),
        ({"aspect": (0.0, 1.0)}, "aspect is"),
        ({"flip_probability": -1}, "probability is -1"),
    ],
)
def test_values_out_of_range_are_refused(keywords, message):
    with pytest.raises(ConfigError, match=message):
        RandomPatch(**keywords)
