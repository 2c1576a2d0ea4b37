import math

import pytest

from reid_core.report.plots.scales import MAX_DECADES, Scale, linear_scale, log_scale, log_text


def test_a_decade_is_equally_long_everywhere_on_a_logarithmic_axis():
    scale = log_scale([1e-4, 0.02, 1.0])
    assert [round(tick, 9) for tick in scale.ticks] == [1e-4, 1e-3, 1e-2, 1e-1, 1.0]
    assert [scale.at(value) for value in (1e-4, 1e-3, 1e-2, 1.0)] == pytest.approx(
        [0, 0.25, 0.5, 1]
    )


def test_a_rate_of_zero_is_at_the_left_end():
    assert log_scale([0.0, 1e-3, 1.0]).at(0.0) == 0.0


@pytest.mark.parametrize("values", [[], [0.0], [1.0], [math.nan, math.inf], [1e-300, 1.0]])
def test_any_rates_give_an_axis_of_one_to_a_few_decades(values):
    assert 2 <= len(log_scale(values).ticks) <= MAX_DECADES + 1


@pytest.mark.parametrize("values", [[], [math.nan], [3.0], [-1e308, 1e308]])
def test_any_values_give_a_linear_axis(values):
    scale = linear_scale(values)
    assert 0 <= scale.at(0.0) <= 1
    assert all(0 <= scale.at(tick) <= 1 for tick in scale.ticks)


def test_values_outside_are_at_the_ends():
    scale = Scale((1.0, 2.0))
    assert (scale.at(0.0), scale.at(1.5), scale.at(9.0)) == (0.0, 0.5, 1.0)


def test_powers_of_ten_are_written_briefly():
    texts = [log_text(value) for value in (1e-6, 1e-3, 0.01, 0.1, 1.0, 1e4)]
    assert texts == ["1e-6", "1e-3", "0.01", "0.1", "1", "1e4"]
