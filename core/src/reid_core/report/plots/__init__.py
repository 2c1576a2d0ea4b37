"""The plots of an evaluation: each drawn on the page, and written as CSV and PNG.

``records`` says what a plot is, ``make`` makes them of the details of an evaluation, ``svg``,
``png`` and ``tables`` draw and write them, and ``write`` fills a folder.
"""

from __future__ import annotations

from reid_core.report.plots.write import write_plots

__all__ = ["write_plots"]
