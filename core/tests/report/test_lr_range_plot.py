"""The plot of a range test shows the fall, and the CSV every step."""

import math

import pytest

from reid_core.engine.trial.find_lr import LrPoint
from reid_core.errors import UsageError
from reid_core.report import lr_range_plot
from reid_core.report.lr_range_plot import write_lr_range

LOSSES = [5.7, 5.6, 5.5, 5.4, 5.5, 9.0, 80.0]
POINTS = [LrPoint(10.0 ** (i - 7), loss, loss) for i, loss in enumerate(LOSSES)]


def test_the_rise_after_the_fall_is_not_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    files = write_lr_range(tmp_path, POINTS, title="mine")
    assert [path.name for path in files] == ["lr_finder.csv", "lr_finder.png", "lr_finder.svg"]
    assert len((tmp_path / "lr_finder.csv").read_text().splitlines()) == 8
    plot = lr_range_plot._plot(POINTS, "mine")
    loss, smoothed = (curve.y for curve in plot.curves)
    assert loss[:5] == smoothed[:5] == tuple(LOSSES[:5])
    assert all(map(math.isnan, loss[5:]))
    svg = (tmp_path / "lr_finder.svg").read_text()
    assert ">5.4</text>" in svg
    assert ">80</text>" not in svg
    assert ">0</text>" not in svg, "the axis begins at the values"


def test_a_folder_that_cannot_be_written_is_told(tmp_path):
    with pytest.raises(UsageError, match=r"cannot be written into .*gone: .*by --output"):
        write_lr_range(tmp_path / "gone", POINTS, title="mine")


def test_without_matplotlib_there_is_no_png(tmp_path, monkeypatch):
    monkeypatch.setattr(lr_range_plot.importlib.util, "find_spec", lambda name: None)
    files = write_lr_range(tmp_path, POINTS, title="mine")
    assert [path.name for path in files] == ["lr_finder.csv", "lr_finder.svg"]
