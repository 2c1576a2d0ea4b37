import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reid_core.report.ticks import format_percent, format_step, format_value, nice_ticks

ENDS = st.floats(-1e300, 1e300)


@given(ENDS, ENDS, st.integers(1, 8))
def test_ticks_are_round_even_few_and_enclose_the_range(one, other, target):
    low, high = min(one, other), max(one, other)
    ticks = nice_ticks(low, high, target=target)
    gap = ticks[1] - ticks[0]
    assert ticks[0] <= low + 1e-6 * gap
    assert ticks[-1] >= high - 1e-6 * gap
    assert 2 <= len(ticks) <= target + 3
    assert all(math.isclose(b - a, gap, rel_tol=1e-6) for a, b in pairwise(ticks))
    mantissa = gap / 10 ** math.floor(math.log10(gap * (1 + 1e-6)))
    assert min(abs(mantissa - factor) for factor in (1, 2, 5)) < 1e-5


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0, 7.2, (0, 2, 4, 6, 8)),
        (0, 100, (0, 20, 40, 60, 80, 100)),
        (0, 3.5e-4, (0, 1e-4, 2e-4, 3e-4, 4e-4)),
        (-1, 1, (-1, -0.5, 0, 0.5, 1)),
        (0, 0, (0, 0.2, 0.4, 0.6, 0.8, 1)),
        (0, 5e-324, (0, 0.2, 0.4, 0.6, 0.8, 1)),
    ],
)
def test_known_ranges_get_the_ticks_a_person_would_choose(low, high, ticks):
    assert nice_ticks(low, high) == pytest.approx(ticks)


def test_numbers_are_written_briefly():
    assert [format_step(n) for n in (0, 800, 1000, 10_000, 12_500, 1_500_000)] == [
        "0", "800", "1k", "10k", "12.5k", "1.5M",
    ]  # fmt: skip
    assert [format_value(v) for v in (0.00035, 0.30000000000000004, 0)] == ["0.00035", "0.3", "0"]
    assert format_percent(60.0) == "60 %"
