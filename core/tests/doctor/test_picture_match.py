import numpy as np
import pytest
from PIL import Image

from reid_core.doctor.fingerprint import shrunk
from reid_core.doctor.laid_over import lay_over, move
from reid_core.doctor.picture_match import (
    SHARP,
    Pictures,
    is_same_in_detail,
    likeness,
    match,
    mirrored,
)
from reid_core.doctor.thumbnails import COARSE, FINE


def picture(seed, size=128):
    """Smooth colours (size, size, 3) uint8."""
    coarse = np.random.default_rng(seed).integers(0, 256, (9, 9, 3), dtype=np.uint8)
    return np.asarray(Image.fromarray(coarse).resize((size, size), Image.Resampling.BICUBIC))


def cut(pixels, left, top, right, bottom):
    height, width = pixels.shape[:2]
    return np.ascontiguousarray(pixels[top : height - bottom, left : width - right])


def squares(pixels, side):
    return shrunk(pixels, side)[None].astype(np.float32)


def same(one, other, *, is_same_identity):
    small = [Pictures(squares(pixels, FINE), squares(pixels, COARSE)) for pixels in (one, other)]
    found = match(*small, is_same_identity=np.array([is_same_identity]))
    if found.may_be_copy[0]:
        left, right = squares(one, SHARP), mirrored(squares(other, SHARP), found.is_mirrored)
        return bool(is_same_in_detail(lay_over(left, right, found.motion))[0])
    return bool(found.is_copy[0])


@pytest.mark.parametrize("is_same_identity", [True, False])
def test_a_picture_is_a_copy_of_itself_and_of_its_mirror_image_alone(is_same_identity):
    one = picture(0)
    assert same(one, one.copy(), is_same_identity=is_same_identity)
    mirrored = np.ascontiguousarray(one[:, ::-1])
    assert same(one, mirrored, is_same_identity=is_same_identity)
    assert not same(one, picture(1), is_same_identity=is_same_identity)
    assert not same(one, np.full_like(one, 9), is_same_identity=is_same_identity)


@pytest.mark.parametrize("edges", [(6, 6, 6, 6), (8, 0, 0, 0), (0, 5, 3, 8)])
def test_copies_that_were_cut_are_found_under_two_identities_only(edges):
    one = picture(2)
    assert same(one, cut(one, *edges), is_same_identity=False)
    assert not same(one, cut(one, *edges), is_same_identity=True)


def test_likeness_is_that_of_plain_loops():
    rng = np.random.default_rng(3)
    ones = rng.normal(size=(3, FINE, FINE, 3)).astype(np.float32)
    others = (2 * ones + rng.normal(size=ones.shape) / 3 + 5).astype(np.float32)
    found = likeness(ones, others)
    for number, (one, other) in enumerate(zip(ones, others, strict=True)):
        correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]
        slope = np.polyfit(one.ravel(), other.ravel(), 1)[0]
        rest = (other - other.mean()) - slope * (one - one.mean())
        worst = max(
            np.sqrt((rest[row : row + 4, column : column + 4] ** 2).mean())
            for row in range(0, FINE, 4)
            for column in range(0, FINE, 4)
        )
        assert found.correlation[number] == pytest.approx(correlation, rel=1e-4)
        assert found.worst_block[number] == pytest.approx(worst / other.std(), rel=1e-3)


def test_a_single_colour_is_like_nothing():
    flat = np.full((1, FINE, FINE, 3), 7, dtype=np.float32)
    found = likeness(squares(picture(0), FINE), flat)
    assert (found.correlation[0], found.worst_block[0]) == (0.0, np.inf)


def test_pictures_are_moved_as_pillow_moves_them():
    side, rng = 32, np.random.default_rng(8)
    pictures = rng.normal(size=(4, 1, side, side)).astype(np.float32)
    motion = np.stack([rng.uniform(-0.12, 0.12, (4, 2)), rng.uniform(-3, 3, (4, 2))], axis=1)
    motion = motion.reshape(4, 4)
    for one, (scale_x, scale_y, shift_x, shift_y), moved in zip(
        pictures, motion, move(pictures, motion), strict=True
    ):
        # The middle of the picture stays where it is, but for the shift.
        start_x = shift_x - scale_x * side / 2
        start_y = shift_y - scale_y * side / 2
        matrix = (1 + scale_x, 0, start_x, 0, 1 + scale_y, start_y)
        expected = Image.fromarray(one[0]).transform(
            (side, side), Image.Transform.AFFINE, matrix, Image.Resampling.BICUBIC
        )
        np.testing.assert_allclose(moved[0], np.asarray(expected), atol=1e-4)


def test_laying_over_undoes_shifts_and_nothing_else():
    pixels = picture(4, 160)
    one, other, third = pixels[:128, :128].copy(), pixels[6:134, 4:132].copy(), picture(5)
    still = np.concatenate([squares(one, FINE), squares(one, FINE)])
    moved = np.concatenate([squares(other, FINE), squares(third, FINE)])
    assert likeness(still, moved).worst_block.min() > 0.5
    first = lay_over(still, moved)
    # A quarter of 6 and of 4 pixels; the sides were shrunk to a quarter.
    np.testing.assert_allclose(first.motion[0], [0, 0, -1.0, -1.5], atol=0.05)
    sharp = [
        np.concatenate([squares(x, SHARP) for x in pair]) for pair in ((one, one), (other, third))
    ]
    second = lay_over(*sharp, first.motion)
    assert min(second.correlation[0], second.details[0]) > 0.99
    assert max(second.correlation[1], second.details[1]) < 0.5


def test_figures_that_differ_in_texture_alone_are_no_copies():
    one = picture(6, 64).astype(np.float64)
    rng = np.random.default_rng(7)
    shots = [np.clip(one + rng.normal(0, 40, one.shape), 0, 255).astype(np.uint8) for _ in range(2)]
    assert not same(*shots, is_same_identity=False)
