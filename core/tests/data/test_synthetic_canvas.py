"""Shapes against loops over single pixels."""

import numpy as np
import pytest

from reid_core.data.datasets.synthetic.canvas import CELL, Canvas, Paint

WHITE = Paint((255, 255, 255), depth=0)


def blank(height: int = 40, width: int = 30) -> Canvas:
    return Canvas(np.zeros((height, width, 3), dtype=np.uint8))


def filled(canvas: Canvas) -> np.ndarray:
    return canvas.pixels[..., 0] > 0


def check_cover(canvas: Canvas, outside) -> None:
    """Compare what is filled with ``outside(x, y)``: how far a point is outside, in units.

    Whole numbers are cut off, so a cell whose centre is within half a cell of the edge may fall
    either way.
    """
    height, width = canvas.pixels.shape[:2]
    centres = [
        [(CELL * x + CELL // 2, CELL * y + CELL // 2) for x in range(width)] for y in range(height)
    ]
    far = np.array([[outside(*centre) for centre in row] for row in centres])
    assert filled(canvas)[far < -CELL / 2].all()
    assert not filled(canvas)[far > CELL / 2].any()
    assert (far < -CELL / 2).sum() > 50, "too little is inside to prove anything"


@pytest.mark.parametrize(
    ("start", "end", "radii"),
    [
        ((40, 30), (80, 120), (12, 20)),
        ((60, 60), (60, 60), (25, 25)),
        ((100, 20), (10, 150), (9, 9)),
    ],
)
def test_limb_covers_the_points_near_its_axis(start, end, radii):
    canvas = blank()
    canvas.limb(start, end, radii, WHITE)

    def outside(x: int, y: int) -> float:
        axis = np.subtract(end, start)
        along = np.dot((x - start[0], y - start[1]), axis) / max(1, np.dot(axis, axis))
        along = min(1.0, max(0.0, along))
        foot = start + along * axis
        return np.hypot(x - foot[0], y - foot[1]) - radii[0] - along * (radii[1] - radii[0])

    check_cover(canvas, outside)


def test_ellipse_covers_the_points_inside():
    canvas = blank()
    canvas.ellipse((55, 70), (40, 55), WHITE)
    check_cover(canvas, lambda x, y: 40 * (np.hypot((x - 55) / 40, (y - 70) / 55) - 1))


def test_trapezoid_covers_the_points_between_its_sides():
    canvas = blank()
    canvas.trapezoid((60, 20), (70, 130), (20, 45), WHITE)

    def outside(x: int, y: int) -> float:
        share = (y - 20) / 110
        return max(20 - y, y - 130, abs(x - (60 + 10 * share)) - (20 + 25 * share))

    check_cover(canvas, outside)


def test_bevel_cuts_the_upper_corners_only():
    square, cut = blank(), blank()
    square.trapezoid((60, 20), (60, 130), (40, 40), WHITE)
    cut.trapezoid((60, 20), (60, 130), (40, 40), WHITE, bevel=20)
    lost = filled(square) & ~filled(cut)
    assert lost.any()
    assert not (filled(cut) & ~filled(square)).any()
    rows = np.flatnonzero(lost.any(axis=1)) * CELL
    assert rows.min() < 24
    assert rows.max() < 40


def test_shapes_off_the_canvas_leave_it_as_it_is():
    canvas = blank()
    canvas.ellipse((-300, 50), (20, 20), WHITE)
    canvas.limb((50, 900), (60, 990), (9, 9), WHITE)
    canvas.trapezoid((900, 0), (900, 90), (30, 30), WHITE)
    canvas.shade((50, -200), (20, 20), 128)
    assert not canvas.pixels.any()


def test_shapes_that_reach_over_the_edge_are_cut():
    canvas = blank()
    canvas.ellipse((0, 0), (40, 40), WHITE)
    assert filled(canvas)[0, 0]
    assert not filled(canvas)[-1, -1]


def test_left_is_lighter_than_right():
    canvas = blank()
    canvas.trapezoid((60, 0), (60, 160), (50, 50), Paint((200, 100, 40), depth=90))
    row = canvas.pixels[20].astype(int)
    assert row[4, 0] > row[15, 0] > row[26, 0] > 0


@pytest.mark.parametrize("pattern", ["stripes", "pinstripes", "checks", "band", "logo"])
def test_every_pattern_shows_both_colours(pattern):
    canvas = blank(80)
    canvas.trapezoid((60, 0), (60, 320), (56, 56), Paint((250, 0, 0), (0, 0, 250), pattern, 48, 0))
    assert (canvas.pixels[..., 0] > 0).any()
    assert (canvas.pixels[..., 2] > 0).any()


def test_stripes_run_across_and_pinstripes_down():
    across, down = blank(), blank()
    for canvas, pattern in ((across, "stripes"), (down, "pinstripes")):
        paint = Paint((250, 0, 0), (0, 0, 250), pattern, 48, 0)
        canvas.trapezoid((60, 0), (60, 160), (70, 70), paint)
    assert all(len(np.unique(row, axis=0)) == 1 for row in across.pixels)
    assert all(len(np.unique(column, axis=0)) == 1 for column in down.pixels.swapaxes(0, 1))


def test_shade_darkens_inside_alone():
    canvas = Canvas(np.full((40, 30, 3), 200, dtype=np.uint8))
    canvas.shade((60, 80), (30, 30), 128)
    assert canvas.pixels[20, 15].tolist() == [100, 100, 100]
    assert canvas.pixels[0, 0].tolist() == [200, 200, 200]


def test_halved_is_the_rounded_mean_of_four():
    noise = np.random.default_rng(0).integers(0, 256, (6, 4, 3), dtype=np.uint8)
    got = Canvas(noise).halved()
    for y in range(3):
        for x in range(2):
            block = noise[2 * y : 2 * y + 2, 2 * x : 2 * x + 2].reshape(4, 3).astype(int)
            assert got[y, x].tolist() == [(int(s) + 2) // 4 for s in block.sum(axis=0)]
