"""Runs probes, a few at a time."""

from __future__ import annotations

import os
import queue
import sys
import tempfile
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path

from reid_core.inspection.probe_ending import ending
from reid_core.inspection.probe_process import ProbeProcess, new_process
from reid_core.inspection.probe_records import ProbeRequest, ProbeResult
from reid_core.plugins.component_ref import ComponentRef

#: A probe that has not loaded torch after this time is given up; the limit that a user sets counts
#: from then on.
START_SECONDS = 300.0
#: Each process that runs at a time needs half a gigabyte.
MAX_JOBS = 4


def probe_all(
    refs: Sequence[ComponentRef],
    *,
    timeout_seconds: float,
    make_process: Callable[[], ProbeProcess] = new_process,
) -> Generator[tuple[ComponentRef, ProbeResult], None, None]:
    """Look at components, each in a process of its own; yield them as they are done.

    Args:
        refs: The components.
        timeout_seconds: How long the import and the building of one may take together.
        make_process: Makes what runs probes one after the other.

    Yields:
        Each component with what was found out.
    """
    jobs = max(1, min(os.cpu_count() or 1, MAX_JOBS, len(refs)))
    processes = [make_process() for _ in range(jobs)]
    free: queue.SimpleQueue[ProbeProcess] = queue.SimpleQueue()
    for process in processes:
        free.put(process)

    def probe(ref: ComponentRef) -> ProbeResult:
        process = free.get()
        try:
            return _probe(ref, timeout_seconds, process)
        finally:
            free.put(process)

    with ThreadPoolExecutor(jobs) as pool:
        futures = {pool.submit(probe, ref): ref for ref in refs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            # Also after an interrupt: nothing may go on running.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in processes:
                process.stop()


def _probe(ref: ComponentRef, timeout_seconds: float, process: ProbeProcess) -> ProbeResult:
    with tempfile.TemporaryDirectory(prefix="reid-probe-", ignore_cleanup_errors=True) as name:
        request, result, output = (Path(name) / file for file in ("request", "result", "output"))
        ProbeRequest(ref, _absolute(sys.path), timeout_seconds).write(request)
        output.touch()
        code = process.run((request, result, output), START_SECONDS + timeout_seconds)
        found = ProbeResult.read(result)
        if found.stage == "done":
            return found
        text = output.read_text(encoding="utf-8", errors="replace")
        return replace(
            found.with_findings([ending(found, code, text, timeout_seconds)]),
            output=found.output or text,
        )


def _absolute(path: Sequence[str]) -> list[str]:
    return [os.path.abspath(folder) for folder in path]  # noqa: PTH100 — "" is a folder here
