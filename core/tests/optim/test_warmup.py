from __future__ import annotations

import pytest

from reid_core.optim.warmup import Warmup


def toolbox_factor(method, count, length, first):
    """The factor as the toolboxes compute it, one case after the other."""
    if count >= length:
        return None
    if method == "constant":
        return first
    alpha = count / length
    if method == "linear":
        return first * (1 - alpha) + alpha
    return first ** (1 - alpha)


@pytest.mark.parametrize("method", ["constant", "linear", "exponential"])
@pytest.mark.parametrize("length", [1, 5, 2.5, 0])
def test_each_method_has_its_formula(method, length):
    warmup = Warmup(length, first=0.01, method=method)
    for count in range(8):
        expected = toolbox_factor(method, count, length, 0.01)
        assert warmup.factor(count) == (None if expected is None else pytest.approx(expected))


def test_without_a_length_there_is_none():
    assert Warmup().factor(0) is None
