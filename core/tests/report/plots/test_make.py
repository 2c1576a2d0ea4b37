import pytest

from reid_core.report.figure_sets import figure_sets
from reid_core.report.plots.make import (
    MAX_IDENTITIES,
    MAX_RANK,
    camera_plot,
    cmc_plot,
    histogram_plot,
    map_plot,
    plots_of,
    roc_plot,
)


@pytest.fixture
def figures(make_detail, make_reranked, read_details):
    def make(*entries):
        [one] = figure_sets(read_details(*(entries or (make_detail(), make_reranked()))))
        return one

    return make


def test_plain_and_reranked_curves_lie_over_each_other(figures):
    plot = cmc_plot(figures())
    assert [curve.name.split(" (")[0] for curve in plot.curves] == [
        "plain",
        "after k-reciprocal re-ranking",
    ]
    assert len(plot.curves[0].x) == MAX_RANK
    assert plot.curves[0].x[0] == 1.0


def test_the_roc_says_its_figures(figures):
    plot = roc_plot(figures())
    assert plot.is_log
    assert plot.curves[0].detail == (
        "AUC 98.7 %; EER 4.3 %; TPR 57.0 % at FPR 1e-4; TPR 71.0 % at FPR 1e-3; "
        "TPR 88.0 % at FPR 1e-2"
    )


def test_evaluations_without_curves_give_no_plot(figures, make_detail):
    bare = figures(make_detail(cmc=[], verification=None, histogram=None, map=None))
    assert cmc_plot(bare) is None
    assert roc_plot(bare) is None
    assert histogram_plot(bare.first) is None


def test_histograms_are_shares_of_their_own_kind(figures):
    plot = histogram_plot(figures().first)
    assert sum(plot.same) == pytest.approx(1)
    assert sum(plot.different) == pytest.approx(1)
    assert plot.threshold == 0.58


def test_fine_bins_are_put_together_without_losing_a_pair(figures, make_detail):
    histogram = {"edges": list(range(1002)), "same": [1] * 1001, "different": [2] * 1001}
    plot = histogram_plot(figures(make_detail(histogram=histogram)).first, max_bins=100)
    assert len(plot.same) == 91
    assert (plot.edges[0], plot.edges[-1]) == (0, 1001)
    assert (plot.num_same, plot.num_different) == (1001, 2002)
    assert plot.same[0] == pytest.approx(11 / 1001)


def test_the_cameras_with_most_queries_are_shown(read_details, make_detail):
    names = ["few", "many", "some"]
    pairs = {"query_cameras": names, "gallery_cameras": names, "ap": [[0.1, 0.2, 0.3]] * 3,
             "num_queries": [[1, 1, 1], [9, 9, 9], [5, 5, 5]]}  # fmt: skip
    [found] = read_details(make_detail(camera_pairs=pairs))
    plot = camera_plot(found.camera_pairs, max_cameras=2)
    assert plot.rows == ("many", "some")
    assert len(plot.values[0]) == 2


@pytest.mark.parametrize("num_pids", [1, MAX_IDENTITIES, MAX_IDENTITIES + 1])
def test_the_map_is_coloured_by_identity_only_for_few(read_details, make_detail, num_pids):
    pids = [f"p{n}" for n in range(num_pids)] * 2
    count = len(pids)
    sides = ["query"] * num_pids + ["gallery"] * num_pids
    found = {"x": [0.0] * count, "y": [1.0] * count, "pids": pids, "sides": sides, "explained": 1}
    [one] = read_details(make_detail(map=found))
    plot = map_plot(one.map)
    if num_pids > MAX_IDENTITIES:
        assert [cloud.name for cloud in plot.clouds] == ["gallery (9)", "query (9)"]
    else:
        assert len(plot.clouds) == 2 * num_pids
        assert {cloud.colour for cloud in plot.clouds} == set(range(num_pids))
    assert sum(len(cloud.x) for cloud in plot.clouds) == count


def test_each_plot_has_a_file_name_of_its_own(figures, make_detail, make_reranked):
    plots = plots_of(figures(make_detail(), make_reranked(), make_reranked(postprocessing=["x"])))
    stems = [plot.stem for plot in plots]
    assert len(set(stems)) == len(stems) == 8
