"""The report of a run: one HTML file that opens anywhere, without network and without scripts.

``write_report`` reads the files of a run folder (``run_folder``, ``metrics``), condenses them
(``summary``, ``galleries``, ``charts``) and fills ``template.html.j2`` (``page``).
"""

from __future__ import annotations

from reid_core.report.write import write_report

__all__ = ["write_report"]
