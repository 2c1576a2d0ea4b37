import pytest

from reid_core.report.figure_sets import figure_sets, variant_name


@pytest.fixture
def sets(read_details):
    return lambda *entries: figure_sets(read_details(*entries))


def test_plain_figures_stand_before_those_after_reranking(sets, make_detail, make_reranked):
    [one] = sets(make_reranked(), make_detail())
    assert [variant_name(each) for each in one.details] == [
        "plain",
        "after k-reciprocal re-ranking (k1=20, k2=6, lambda=0.3)",
    ]
    assert one.name == "market1501"


def test_several_steps_of_postprocessing_are_named_in_order(sets, make_detail):
    [one] = sets(make_detail(postprocessing=["average", "smooth"]))
    assert variant_name(one.first) == "after average, then smooth"


def test_what_was_measured_in_another_way_stands_apart_and_says_how(sets, make_detail):
    found = sets(make_detail(), make_detail(distance="euclidean"), make_detail("other"))
    assert [one.name for one in found] == [
        "market1501 (cosine distance)",
        "market1501 (euclidean distance)",
        "other",
    ]
