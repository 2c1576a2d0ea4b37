"""The splits that are drawn here: by a number, the same on every machine."""

import pytest

from reid_core.errors import ConfigError
from reid_plugin_datasets.draws import draw, require_split, split_note
from reid_plugin_datasets.parameters import require_between, require_choice

#: By split, of ten identities.
GOLDEN = {0: [3, 4, 5, 7, 8], 1: [1, 2, 5, 8, 9]}


def test_a_number_draws_the_same_identities_whatever_their_order():
    assert draw([5, 3, 9, 1, 7, 2], 3, split=4) == draw([1, 2, 3, 5, 7, 9], 3, split=4)


def test_the_drawn_identities_are_those_of_numpys_generator():
    # Written down from numpy 2: a change of them changes published figures.
    assert sorted(draw(range(1, 11), 5, split=0)) == GOLDEN[0]
    assert sorted(draw(range(1, 11), 5, split=1)) == GOLDEN[1]


def test_numbers_draw_different_identities():
    assert len({draw(range(100), 50, split=split) for split in range(10)}) == 10


@pytest.mark.parametrize("split", [-1, 10, True, "0"])
def test_a_split_that_there_is_not_is_refused(split):
    with pytest.raises(ConfigError, match=r"data set x: split is .*; expected .* from 0 to 9"):
        require_split(split, dataset="x")


def test_the_note_says_number_and_rule():
    assert split_note(3, "half are trained on", number=20) == (
        "split 3 of 0 to 19: half are trained on; published figures are means over 20 such splits"
    )


def test_a_word_that_is_none_of_the_choices_is_refused():
    require_choice("a", ("a", "b"), name="query", dataset="x")
    require_between(3, 0, 3, name="split", dataset="x")
    with pytest.raises(ConfigError) as caught:
        require_choice("label", ("labeled", "detected", "both"), name="images", dataset="cuhk03")
    assert str(caught.value) == (
        "data set cuhk03: images is 'label'; expected labeled, detected or both; did you mean "
        "labeled?"
    )
