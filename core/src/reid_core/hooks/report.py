"""Writes the report when a run ends, however it ends."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from reid_core.hookspecs import hookimpl
from reid_core.report import write_report

if TYPE_CHECKING:
    from reid_core.engine import DefaultTrainer

log = logging.getLogger("reid_core")


class Report:
    """Makes ``report.html`` from the files of the run folder; lists last, so that all are there."""

    @hookimpl
    def after_train(self, trainer: DefaultTrainer) -> None:
        """Write the report."""
        path = write_report(trainer.folder.path)
        log.info("report: %s", path.resolve())
