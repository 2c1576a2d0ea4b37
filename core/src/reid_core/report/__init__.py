"""The report of a run: one HTML file that opens anywhere, without network and without scripts.

``write_report`` reads the files of a run folder (``run_folder``, ``metrics``), condenses them
(``summary``, ``measured``, ``galleries``, ``charts``) and fills ``templates/template.html.j2``
(``page``). ``write_comparison`` sets several runs beside each other, and ``write_plots`` writes
every plot as a file of its own.
"""

from __future__ import annotations

from reid_core.report.comparison import write_comparison
from reid_core.report.plots import write_plots
from reid_core.report.write import write_report

__all__ = ["write_comparison", "write_plots", "write_report"]
