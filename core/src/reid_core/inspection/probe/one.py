"""One request, in a process that is there for it alone."""

from __future__ import annotations

import faulthandler
import logging
import sys
from pathlib import Path

from reid_core.inspection.probe.examine import examine
from reid_core.inspection.probe_records import ProbeRequest, ProbeResult


def run_probe(request_file: Path, result_file: Path, output_file: Path) -> None:
    """Look at the component of a request, and write down what is found.

    Args:
        request_file: Where the request is.
        result_file: Where the result goes, each time that more of it is known.
        output_file: Where both streams of this process go.
    """
    request = ProbeRequest.read(request_file)
    sys.path[:] = request.path
    # The log goes where the output goes; it is not what the plugin itself prints.
    logging.getLogger("reid_core").setLevel(logging.ERROR)
    faulthandler.enable()
    # Says where it hangs, and needs neither the interpreter's lock nor its cooperation.
    faulthandler.dump_traceback_later(request.timeout_seconds, exit=True)

    def keep(result: ProbeResult) -> None:
        result.write(result_file)

    keep(examine(request.ref, keep, output_file))
