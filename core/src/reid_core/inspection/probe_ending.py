"""How a probe ended that did not come to its end, in words."""

from __future__ import annotations

import re
import signal
import sysconfig

from reid_core.inspection.finding import Finding
from reid_core.inspection.probe_records import ProbeResult

_DOING = {
    "start": "before anything was imported",
    "import": "while it was imported",
    "signature": "while its signature was read",
    "build": "while it was built",
    "done": "at its end",
}
# What faulthandler writes, innermost call first.
_FRAME = re.compile(r'^  File "(?P<file>[^"<]+)", line (?P<line>\d+)', re.MULTILINE)
_TIMEOUT, _CRASH = "Timeout (", "Fatal Python error"


def ending(found: ProbeResult, code: int | None, output: str, timeout_seconds: float) -> Finding:
    """Say what happened to a probe.

    Args:
        found: What it had found out until then.
        code: Its exit code; None if it was stopped from outside.
        output: All that it printed.
        timeout_seconds: How long it was given.
    """
    doing = _DOING[found.stage]
    if found.stage == "start":
        last = output.strip().splitlines()[-1:] or [f"exit code {code}"]
        return Finding("fault", "probe", f"the check could not begin: {last[0]}")
    if code is None or (code == 1 and _TIMEOUT in output):
        return Finding(
            "fault",
            "timeout",
            f"was stopped after {timeout_seconds:g} s {doing}{_place(output, _TIMEOUT)}; importing "
            "and building do no work: leave it to a method, or give it longer: --timeout SECONDS",
        )
    if code < 0:
        return Finding(
            "fault",
            "crash",
            f"crashed the process with {signal.Signals(-code).name} {doing}"
            f"{_place(output, _CRASH)}",
        )
    return Finding(
        "fault",
        "crash",
        f"ended the process with exit code {code} {doing}; a component may not end the program",
    )


def _place(output: str, heading: str) -> str:
    """Return the innermost place outside Python's own library that a dump in the output names."""
    start = output.rfind(heading)
    frames = list(_FRAME.finditer(output, start)) if start >= 0 else []
    frames = [frame for frame in frames if not _is_library(frame["file"])] or frames
    return f" ({frames[0]['file']}:{frames[0]['line']})" if frames else ""


def _is_library(file: str) -> bool:
    return file.startswith(sysconfig.get_path("stdlib")) and "site-packages" not in file
