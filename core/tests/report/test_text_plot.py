from __future__ import annotations

from reid_core.report.text_plot import text_plot


def test_a_curve_is_drawn_between_zero_and_its_highest_value():
    lines = text_plot([0.0, 1.0, 2.0, 1.0], x_end="4", width=4, height=3)
    assert lines == [
        "2 |  *",
        "  | * *",
        "0 |*",
        "  +----",
        "   0  4",
    ]


def test_no_drop_between_two_columns_is_lost():
    values = [1.0] * 99 + [0.0] + [1.0] * 100
    lines = text_plot(values, x_end="200", width=10, height=4)
    columns = ["".join(line[3:].ljust(10)[c] for line in lines[:4]) for c in range(10)]
    assert columns == ["*   "] * 4 + ["****"] + ["*   "] * 5


def test_a_short_run_fills_the_width():
    lines = text_plot([1.0, 0.5], x_end="2", width=6, height=3)
    assert lines[0] == "1 |***"
    assert lines[1] == "  |   ***"


def test_a_rate_of_zero_throughout_is_drawn():
    assert text_plot([0.0, 0.0], x_end="2", width=2, height=2)[1] == "0 |**"
