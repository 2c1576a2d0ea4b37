import csv
import io
import sys

import pytest
from PIL import Image

from reid_core.errors import DataError, ReidError, UsageError
from reid_core.report.plots import write_plots
from reid_core.report.plots.png import draw_png
from reid_core.report.plots.records import Curve, LinePlot


def rows_of(path):
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def test_every_plot_is_a_csv_file_with_all_its_numbers(detailed_run, tmp_path, make_detail):
    paths = write_plots(detailed_run, tmp_path / "plots")
    names = ["cameras", "cmc", "distances", "failures", "figures", "identities", "map", "roc"]
    assert [path.name for path in paths] == [f"market1501-{name}.csv" for name in names]
    one = make_detail()
    cmc = rows_of(tmp_path / "plots/market1501-cmc.csv")
    assert [float(row["share"]) for row in cmc if row["figures"] == "plain"] == one["cmc"]
    assert {row["figures"].split(" (")[0] for row in cmc} == {
        "plain",
        "after k-reciprocal re-ranking",
    }
    assert [row["rank"] for row in cmc[:2]] == ["1", "2"]
    figures = rows_of(tmp_path / "plots/market1501-figures.csv")
    assert figures[0] == {"figures": "plain", "metric": "mAP", "value": "0.742",
                          "low": "0.724", "high": "0.758", "level": "0.95"}  # fmt: skip
    cameras = rows_of(tmp_path / "plots/market1501-cameras.csv")
    assert cameras[0]["ap"] == ""
    failures = rows_of(tmp_path / "plots/market1501-failures.csv")
    assert failures[0]["examples"] == "3 14"


def test_png_files_are_drawn_without_a_screen(detailed_run, tmp_path, monkeypatch):
    # B163
    monkeypatch.delenv("DISPLAY", raising=False)
    paths = write_plots(detailed_run, tmp_path / "plots", png=True)
    drawn = sorted((path for path in paths if path.suffix == ".png"), key=lambda path: path.stem)
    assert [path.stem.removeprefix("market1501-") for path in drawn] == [
        "cameras", "cmc", "distances", "distances-reranked", "failures", "map", "roc",
    ]  # fmt: skip
    for path in drawn:
        with Image.open(path) as image:
            assert image.size == (960, 660)
            assert len(image.convert("RGB").getcolors(1 << 20)) > 10
    assert "matplotlib.pyplot" not in sys.modules


@pytest.mark.filterwarnings("error")
def test_names_without_a_glyph_or_like_formulas_are_drawn(tmp_path, write_run, make_detail):
    # B163
    names = ["行人", "$x^$", "_a", "\\frac", "x" * 200, "<b>&", "a\nb", "\udcff", ""]
    cameras = {"query_cameras": names, "gallery_cameras": names, "ap": [[0.5] * 9] * 9,
               "num_queries": [[1] * 9] * 9}  # fmt: skip
    failures = [{"reason": name, "explanation": "", "count": 1} for name in names]
    cloud = {"x": [0.0, 1.0], "y": [0.0, 1.0], "pids": ["行人", "_$"],
             "sides": ["query", "gallery"], "explained": 0.5}  # fmt: skip
    one = make_detail("行人 $", camera_pairs=cameras, failures=failures, map=cloud,
                      postprocessing=["$\\frac$", "重排"])  # fmt: skip
    run = write_run(tmp_path / "run", details={"schema": 1, "details": [one]})
    paths = write_plots(run, tmp_path / "plots", png=True)
    assert sum(path.suffix == ".png" for path in paths) == 6


def test_test_sets_that_differ_only_in_a_folder_get_files_of_their_own(
    tmp_path, write_run, make_detail
):
    # B163
    entries = [make_detail("a/1.jpg"), make_detail("b/1.jpg")]
    run = write_run(tmp_path / "run", details={"schema": 1, "details": entries})
    paths = write_plots(run, tmp_path / "plots")
    assert len(paths) == 16
    assert all(path.parent == tmp_path / "plots" for path in paths)


def test_the_same_run_gives_the_same_bytes(tmp_path, write_run, make_detail):
    bare = {"verification": None, "histogram": None, "camera_pairs": None, "failures": []}
    run = write_run(tmp_path / "r", details={"schema": 1, "details": [make_detail(**bare)]})
    first = {p.name: p.read_bytes() for p in write_plots(run, tmp_path / "a", png=True)}
    second = {p.name: p.read_bytes() for p in write_plots(run, tmp_path / "b", png=True)}
    assert first == second
    assert {"market1501-cmc.png", "market1501-cmc.csv"} <= set(first)


def test_a_run_without_details_has_no_plots(full_run, tmp_path):
    assert write_plots(full_run, tmp_path / "plots") == ()
    assert not (tmp_path / "plots").exists()


def test_png_without_matplotlib_says_what_to_type(detailed_run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(DataError, match=r"type: pip install 'reid-core\[plots\]'"):
        write_plots(detailed_run, tmp_path / "plots", png=True)
    assert not (tmp_path / "plots").exists()


def test_a_folder_that_is_missing_and_one_that_cannot_be_written_are_named(detailed_run, tmp_path):
    with pytest.raises(UsageError, match="nowhere: it is not a folder; expected a run folder"):
        write_plots(tmp_path / "nowhere", tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(ReidError, match=r"cannot write plots into .*file"):
        write_plots(detailed_run, tmp_path / "file")


def test_a_long_title_is_wrapped_and_nothing_of_it_is_cut(monkeypatch):
    from matplotlib.figure import Figure

    drawn = []
    monkeypatch.setattr(Figure, "savefig", _seen(Figure.savefig, drawn))
    title = "msmt17: cumulative matching, after k-reciprocal re-ranking (k1 20, k2 6, lambda 0.3)"
    title += ", mean of 10 draws, protocol sysu_mm01"
    draw_png(
        LinePlot(
            "cmc", title, "rank", "share of the queries", (Curve("a", (1.0, 2.0), (0.2, 0.3)),)
        )
    )
    ((text, width, canvas),) = drawn
    assert len(text.splitlines()) == 3
    assert text.split() == title.split()
    assert width < canvas


def _seen(savefig, drawn):
    def seen(figure, *args, **options):
        savefig(figure, *args, **options)
        (axes,) = figure.axes
        box = axes.title.get_window_extent()
        drawn.append((axes.title.get_text(), box.width, figure.bbox.width))

    return seen
