import math
import re

from reid_core.report.plots.records import Cloud, Curve, HistogramPlot, LinePlot, ScatterPlot
from reid_core.report.plots.svg import (
    MAX_POINTS,
    draw_histogram,
    draw_lines,
    draw_scatter,
    line_scales,
)


def lines(*curves, **changes):
    return LinePlot("roc", "ROC", "fpr", "tpr", curves, **{"is_share": True, **changes})


def points_of(svg, style):
    path = re.search(rf'class="{style}" d="([^"]*)"', svg).group(1)
    return [
        tuple(map(float, pair.split())) for pair in re.split("[ML]", path.replace(" M", "M"))[1:]
    ]


def ticks_of(svg, style):
    found = re.findall(rf'class="tick {style}" x="([^"]*)" y="([^"]*)">([^<]*)<', svg)
    return [(float(x), float(y), text) for x, y, text in found]


def test_points_of_a_logarithmic_curve_lie_above_their_ticks():
    svg = draw_lines(lines(Curve("a", (1e-2, 1e-1, 1.0), (0.2, 0.6, 1.0)), is_log=True))
    places = [x for x, _, text in ticks_of(svg, "mid") if text in ("0.01", "0.1", "1")]
    drawn = points_of(svg, "curve s0")
    assert [x for x, _ in drawn] == places
    heights = {text: y - 4 for _, y, text in ticks_of(svg, "end")}
    assert [y for _, y in drawn] == [heights["20 %"], heights["60 %"], heights["100 %"]]


def test_of_points_left_of_a_logarithmic_axis_only_the_last_is_drawn():
    fpr = (0.0, 0.0, 1e-9, 1e-3, 1.0)
    svg = draw_lines(lines(Curve("a", fpr, (0.1, 0.2, 0.3, 0.8, 1.0)), is_log=True))
    assert len(points_of(svg, "curve s0")) == 3


def test_shares_that_are_all_high_get_an_axis_that_does_not_begin_at_zero():
    high = lines(Curve("a", (1.0, 2.0), (0.91, 0.99)))
    low = lines(Curve("a", (1.0, 2.0), (0.09, 0.99)))
    assert line_scales(high)[1].ticks[0] == 90
    assert line_scales(low)[1].ticks[0] == 0


def test_a_value_that_is_not_finite_breaks_the_line():
    svg = draw_lines(lines(Curve("a", (1.0, 2.0, 3.0), (0.5, math.nan, 0.7))))
    assert "nan" not in svg
    assert svg.count("<circle") == 2


def test_long_curves_are_thinned_and_keep_their_ends():
    xs = tuple(float(n) for n in range(10_000))
    svg = draw_lines(lines(Curve("a", xs, tuple(x / 10_000 for x in xs))))
    drawn = points_of(svg, "curve s0")
    assert len(drawn) == MAX_POINTS
    assert (drawn[0][0], drawn[-1][0]) == (52.0, 344.0)


def test_ranks_begin_at_one():
    svg = draw_lines(lines(Curve("a", tuple(map(float, range(1, 51))), (0.5,) * 50)))
    assert [text for *_, text in ticks_of(svg, "mid")][:6] == ["1", "10", "20", "30", "40", "50"]


def test_a_number_that_would_run_into_that_of_the_last_rank_is_left_out():
    x, _ = line_scales(lines(Curve("a", tuple(map(float, range(1, 45))), (0.5,) * 44)))
    assert x.ticks == (1.0, 10.0, 20.0, 30.0, 44.0)


def histogram(**changes):
    fields = {"edges": (0.0, 0.5, 1.0), "same": (0.75, 0.25), "different": (0.0, 1.0)}
    return HistogramPlot(
        "d", "Distances", "cosine distance", num_same=4, num_different=9, **{**fields, **changes}
    )


def test_bars_reach_the_height_of_their_share():
    svg = draw_histogram(histogram())
    heights = {text: y - 4 for _, y, text in ticks_of(svg, "end")}
    path = re.search(r'class="curve s1" d="([^"]*)"', svg).group(1)
    assert float(re.findall(r"V([\d.]+)", path)[0]) == heights["0 %"]
    assert float(re.findall(r"V([\d.]+)", path)[1]) == heights["100 %"]


def test_the_threshold_stands_at_its_distance():
    svg = draw_histogram(histogram(threshold=0.5))
    line = re.search(r'class="threshold" x1="([\d.]+)"', svg).group(1)
    assert float(line) == (52 + 344) / 2
    assert 'class="threshold"' not in draw_histogram(histogram())
    assert 'class="threshold"' not in draw_histogram(histogram(threshold=math.nan))


def test_queries_of_the_map_are_crosses_and_others_dots():
    clouds = (
        Cloud("g", (0.0, 2.0), (0.0, 1.0), ("1", "2"), 0),
        Cloud("q", (1.0,), (0.5,), ("1",), 1, is_query=True),
    )
    svg = draw_scatter(ScatterPlot("map", "Map", clouds))
    assert re.search(r'class="points s0" d="(M[\d. ]+h0){2}"', svg)
    assert re.search(r'class="cross s1" d="M[\d. ]+m-2.5', svg)


def test_distances_in_the_map_are_equally_long_in_both_directions():
    cloud = Cloud("g", (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), ("1",) * 3)
    svg = draw_scatter(ScatterPlot("map", "Map", (cloud,)))
    (ax, ay), (bx, _), (_, cy) = [
        tuple(map(float, pair.split())) for pair in re.findall(r"M([\d.]+ [\d.]+)h0", svg)
    ]
    assert abs((bx - ax) - (ay - cy)) < 0.2


def test_names_are_escaped():
    svg = draw_lines(LinePlot("x", '<b>"', "<i>", "&", (Curve("a", (1.0,), (0.5,)),)))
    assert "<b>" not in svg
    assert "<i>" not in svg
