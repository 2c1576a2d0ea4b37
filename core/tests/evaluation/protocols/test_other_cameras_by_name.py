"""Benchmarks that share the rule of Market-1501 have names of their own."""

import numpy as np
import pytest

from reid_core.evaluation import Labels, market1501
from reid_core.evaluation.protocols.clothes import ltcc
from reid_core.evaluation.protocols.cuhk03_np import cuhk03_np
from reid_core.evaluation.protocols.msmt17 import msmt17
from reid_core.evaluation.protocols.veri776 import veri776
from reid_core.evaluation.protocols.veri_wild import veri_wild

NAMED = [
    ("msmt17", msmt17),
    ("cuhk03_np", cuhk03_np),
    ("veri776", veri776),
    ("veri_wild", veri_wild),
    ("ltcc", ltcc),
]


@pytest.mark.parametrize(("name", "protocol"), NAMED)
def test_the_rule_is_that_of_market1501(name, protocol):
    rng = np.random.default_rng(0)
    query = Labels(rng.integers(0, 4, 20), rng.integers(0, 3, 20))
    gallery = Labels(rng.integers(-1, 4, 60), rng.integers(0, 3, 60))
    expected = market1501().excluded(query, gallery)
    assert np.array_equal(protocol().excluded(query, gallery), expected)
    assert protocol().needs_cameras


@pytest.mark.parametrize(("name", "protocol"), NAMED)
def test_name_and_rule_are_stored_with_the_figures(name, protocol, points, evaluated):
    # Case B048: the vehicle in the query's camera at 1, another at 2, the vehicle elsewhere at 3.
    # The first is left out, so the match has rank 2: AP 1/2, rank 1 0.
    query = points([0], [1], [0])
    gallery = points([1, 2, 3], [1, 2, 1], [0, 1, 1])
    result = evaluated(query, gallery, protocol())
    assert (result.mAP, result.rank(1), result.rank(5)) == (0.5, 0.0, 1.0)
    assert result.protocol == name
    assert "matches in the query's own camera left out" in result.protocol_description
    assert result.num_trials == 1
