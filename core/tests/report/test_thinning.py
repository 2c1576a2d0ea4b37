import math

from hypothesis import given
from hypothesis import strategies as st

from reid_core.report.records import Series
from reid_core.report.thinning import thin

VALUES = st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=200)


@given(VALUES, st.integers(5, 40))
def test_thinning_keeps_ends_extremes_and_gaps_within_the_limit(values, max_points):
    series = Series("loss", tuple(range(len(values))), tuple(values))
    thinned = thin(series, max_points=max_points)
    assert len(thinned) <= max(max_points, 0)
    assert list(thinned.steps) == sorted(set(thinned.steps))
    for step, value in zip(thinned.steps, thinned.values, strict=True):
        assert value is values[step]
    if values:
        assert (thinned.steps[0], thinned.steps[-1]) == (0, len(values) - 1)
    finite = [v for v in values if math.isfinite(v)]
    kept = [v for v in thinned.values if math.isfinite(v)]
    if finite:
        assert (min(kept), max(kept)) == (min(finite), max(finite))
    assert (len(finite) < len(values)) == (len(kept) < len(thinned))


def test_a_short_curve_is_returned_as_it_is():
    series = Series("loss", (1, 2), (3.0, 4.0))
    assert thin(series) is series


def test_a_single_peak_among_ten_thousand_survives():
    values = [1.0] * 10_000
    values[4321] = 50.0
    assert 4321 in thin(Series("loss", tuple(range(10_000)), tuple(values))).steps
