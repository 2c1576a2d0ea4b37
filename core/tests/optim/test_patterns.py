from __future__ import annotations

import pytest

from reid_core.errors import ConfigError
from reid_core.optim.patterns import matching_names


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("backbone.stem.*", {"backbone.stem.weight", "backbone.stem.bias"}),
        ("classifier.weight", {"classifier.weight"}),
        ("n*.bias", {"neck.bias"}),
    ],
)
def test_a_pattern_is_compared_with_the_whole_name(model, pattern, expected):
    assert matching_names(model, [pattern], setting="here") == expected


def test_no_pattern_matches_nothing(model):
    assert matching_names(model, [], setting="here") == frozenset()


@pytest.mark.parametrize(
    ("pattern", "near"),
    [
        # The beginning of a name is no match, as it is with regular expressions elsewhere.
        ("backbone", "backbone.*"),
        ("backbone.stm.*", "backbone.stem.*"),
        ("classifer.weight", "classifier.weight"),
        ("zzzzzz", "backbone.*, neck.*, classifier.*"),
    ],
)
def test_one_that_matches_nothing_is_refused_with_what_is_near(model, pattern, near):
    with pytest.raises(ConfigError) as caught:
        matching_names(model, ["neck.*", pattern], setting="train.optimizer.frozen")
    message = str(caught.value)
    assert f"train.optimizer.frozen: '{pattern}' matches none of the 13 parameters" in message
    assert near in message.partition("near it: ")[2]
