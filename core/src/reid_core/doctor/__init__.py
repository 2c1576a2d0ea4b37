"""The doctor: what is wrong with data sets, found before anything is trained.

``check`` looks at everything, the pixels too; ``quick`` at what the labels and a listing of the
folders tell, before each run. Checks of one subject are one module each; all of them yield
:class:`Finding`.
"""

from __future__ import annotations

from reid_core.doctor.finding import Finding, Severity
from reid_core.doctor.report import Report

__all__ = ["Finding", "Report", "Severity"]
