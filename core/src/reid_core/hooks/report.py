"""Writes the report and the data of its plots when a run ends, however it ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reid_core.hookspecs import hookimpl
from reid_core.report import write_plots, write_report

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer

log = logging.getLogger("reid_core")


class Report:
    """Makes ``report.html`` and ``plots/`` from the files of the run folder.

    It lists last, so that all are there. Plots are CSV files; a run whose last evaluation was not
    described (``evaluate.details``) has none.
    """

    first_process_only = True

    @hookimpl
    def after_train(self, trainer: DefaultTrainer) -> None:
        """Write the report, and each plot as CSV."""
        folder = trainer.folder.path
        path = write_report(folder)
        if (folder / "details.json").is_file():
            write_plots(folder, folder / "plots")
        log.info("report: %s", path.resolve())
