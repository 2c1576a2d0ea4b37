import math
import re
from itertools import pairwise

import pytest

from reid_core.report.curves import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    WIDTH,
    draw_curves,
    fit_axes,
    step_at,
)
from reid_core.report.records import Series


def points_of(svg, position=0):
    """Read the points of a curve back from the drawing, one list for each unbroken run."""
    path = re.search(rf'class="curve s{position}" d="([^"]*)"', svg).group(1)
    runs = [run for run in path.split("M") if run.strip()]
    return [[tuple(map(float, pair.split())) for pair in run.split("L")] for run in runs]


def test_points_lie_where_the_ticks_say():
    svg = draw_curves([Series("loss", (0, 50, 100), (4.0, 1.0, 2.0))], title="Loss", epochs={})
    ticks = re.findall(r'class="tick end" x="[^"]*" y="([^"]*)" dy="0.35em">([^<]*)<', svg)
    (y_a, a), (y_b, b) = [(float(y), float(text)) for y, text in (ticks[0], ticks[-1])]
    steps = re.findall(r'class="tick mid" x="([^"]*)" y="[^"]*">(\d+)<', svg)
    (x_a, s_a), (x_b, s_b) = [(float(x), float(text)) for x, text in (steps[0], steps[-1])]
    [run] = points_of(svg)
    values = [a + (b - a) * (y - y_a) / (y_b - y_a) for _, y in run]
    assert values == pytest.approx([4.0, 1.0, 2.0], abs=0.02)
    assert [s_a + (s_b - s_a) * (x - x_a) / (x_b - x_a) for x, _ in run] == pytest.approx(
        [0, 50, 100], abs=0.1
    )


def test_a_value_that_is_not_finite_breaks_the_line():
    values = (1.0, 2.0, math.nan, math.inf, 3.0, 4.0)
    svg = draw_curves([Series("loss", tuple(range(6)), values)], title="Loss", epochs={})
    assert [len(run) for run in points_of(svg)] == [2, 2]
    assert "nan" not in svg
    assert "inf" not in svg


def test_a_lone_point_is_a_dot_even_in_a_long_curve():
    values = (1.0, math.nan, 2.0, math.nan, *([3.0] * 100))
    series = Series("loss", tuple(range(len(values))), values)
    assert draw_curves([series], title="Loss", epochs={}).count("<circle") == 2


def test_few_points_are_dotted_and_many_are_not():
    few = Series("mAP", (1, 2, 3), (1.0, 2.0, 3.0))
    many = Series("loss", tuple(range(100)), (1.0,) * 100)
    svg = draw_curves([few, many], title="x", epochs={})
    assert svg.count('class="dot s0"') == 3
    assert svg.count('class="dot s1"') == 0


@pytest.mark.parametrize("values", [(), (math.nan,), (0.0,), (-3.0, -1.0), (1e38, 1.0)])
def test_any_values_give_axes_that_hold_them_and_zero(values):
    axes = fit_axes([Series("x", tuple(range(len(values))), values)])
    for value in (0.0, *(v for v in values if math.isfinite(v))):
        assert 0 <= axes.y(value) <= HEIGHT - BOTTOM
    assert axes.x_high > 0


def test_steps_of_epochs_are_interpolated_between_rows_and_unknown_beyond_them():
    epochs = {100: 1.0, 200: 3.0}
    assert step_at(0.5, epochs) == pytest.approx(50)
    assert step_at(2.0, epochs) == pytest.approx(150)
    assert step_at(3.0, epochs) == 200
    assert step_at(3.1, epochs) is None
    assert step_at(0.5, {}) is None
    assert step_at(0.0, {100: 0.0}) == 0


def test_epochs_stand_under_the_steps_where_they_are_known():
    series = [Series("loss", (0, 100), (1.0, 2.0))]
    assert "ep 2<" in draw_curves(series, title="Loss", epochs={100: 5.0})
    assert "ep " not in draw_curves(series, title="Loss", epochs={})


def epochs_of(svg):
    """Read the epochs of the axis, and where they stand."""
    found = re.findall(r'x="([^"]*)" y="[^"]*">ep ([^<]*)<', svg)
    return [(epoch, float(x)) for x, epoch in found]


def test_epochs_of_the_axis_are_round_and_stand_where_they_were_done():
    series = [Series("loss", (0, 28), (1.0, 2.0))]
    svg = draw_curves(series, title="Loss", epochs={10: 10 / 28, 20: 20 / 28, 28: 1.0})
    right_end = WIDTH - RIGHT
    middle = (LEFT + right_end) / 2
    assert epochs_of(svg) == [("0", LEFT), ("0.5", middle), ("1", right_end)]
    long = draw_curves([Series("loss", (4500,), (1.0,))], title="Loss", epochs={4500: 120.0})
    assert [epoch for epoch, _ in epochs_of(long)] == ["0", "50", "100"]


def test_epochs_of_the_axis_never_run_into_each_other():
    svg = draw_curves([Series("loss", (100,), (1.0,))], title="Loss", epochs={3: 8.0, 100: 10.0})
    places = [x for _, x in epochs_of(svg)]
    assert len(places) > 1
    assert all(b - a >= 40 for a, b in pairwise(places))


def test_title_and_tick_text_are_escaped():
    svg = draw_curves(
        [Series("x", (1,), (1.0,))], title='<b>"&', epochs={}, tick_text=lambda v: f"<{v}>"
    )
    assert "<b>" not in svg
    assert "&lt;b&gt;&#34;&amp;" in svg
    assert "&lt;0.0&gt;" in svg
