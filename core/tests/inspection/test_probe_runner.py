"""Probes that do not come back, in both kinds of process."""

from __future__ import annotations

import os
import select
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from reid_core.inspection import probe_process
from reid_core.inspection.probe_process import ForkingProcess, FreshProcess, ProbeProcess
from reid_core.inspection.probe_records import ProbeRequest, ProbeResult
from reid_core.inspection.probe_runner import probe_all
from reid_core.plugins.component_ref import ComponentRef
from reid_core.testing.fake_dist import FakeSite

FINE = """
from torch import nn
class Part(nn.Module):
    def forward(self, output, batch): return output
"""
HANGS = "import threading\nthreading.Event().wait()\n"
#: Starts a process of its own, waits until that is there, and ends without it.
BREEDS = """
import os, pathlib, subprocess, sys
program = "import os, sys, threading; os.write(os.open(sys.argv[1], os.O_WRONLY), b'alive')"
program += "; print(flush=True); threading.Event().wait()"
pipe = str(pathlib.Path(__file__).with_name("pipe"))
child = subprocess.Popen([sys.executable, "-c", program, pipe], stdout=subprocess.PIPE)
child.stdout.readline()
os._exit(0)
"""
DIES = "import os\nos.kill(os.getpid(), 9)\n"

METHODS: list[Callable[[], ProbeProcess]] = [FreshProcess]
if probe_process.CAN_FORK:
    METHODS.append(ForkingProcess)


def install(fake_dist: FakeSite, **sources: str) -> tuple[Path, list[ComponentRef]]:
    entries = {name: f"run_{name}:Part" for name in sources}
    modules = {f"run_{name}.py": source for name, source in sources.items()}
    root = fake_dist("reid-plugin-run", {"losses": entries}, modules=modules)
    refs = [
        ComponentRef("losses", name, value, "reid-plugin-run", "1.0", "ok")
        for name, value in entries.items()
    ]
    return root, refs


@pytest.mark.parametrize("method", METHODS)
def test_one_that_hangs_or_dies_stops_no_other(
    method: Callable[[], ProbeProcess], fake_dist: FakeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method is not FreshProcess:
        monkeypatch.setattr(os, "cpu_count", lambda: 1)  # all in one and the same process
    _, refs = install(fake_dist, dies=DIES, hangs=HANGS, fine=FINE)
    probes = probe_all(refs, timeout_seconds=2.5, make_process=method)
    found = {ref.name: result for ref, result in probes}
    assert (found["fine"].stage, found["fine"].is_built, found["fine"].findings) == (
        "done",
        True,
        (),
    )
    (hangs,), (dies,) = found["hangs"].findings, found["dies"].findings
    assert (hangs.level, hangs.rule) == ("fault", "timeout")
    assert "was stopped after 2.5 s while it was imported" in hangs.message
    assert "run_hangs.py:2" in hangs.message
    assert "--timeout SECONDS" in hangs.message
    assert (dies.level, dies.rule) == ("fault", "crash")
    assert "crashed the process with SIGKILL while it was imported" in dies.message


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("method", METHODS)
def test_what_a_component_has_started_ends_with_its_probe(
    method: Callable[[], ProbeProcess], fake_dist: FakeSite
) -> None:
    root, refs = install(fake_dist, breeds=BREEDS)
    os.mkfifo(root / "pipe")
    reader = os.open(root / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        ((_, result),) = probe_all(refs, timeout_seconds=60, make_process=method)
        assert "ended the process with exit code 0" in result.findings[0].message
        assert os.read(reader, 100) == b"alive"
        poll = select.poll()
        poll.register(reader, 0)
        # It holds the other end of the pipe as long as it lives.
        assert poll.poll(30_000) == [(reader, select.POLLHUP)]
    finally:
        os.close(reader)


class Scripted:
    """A process that plays the part of a probe."""

    def __init__(self, code: int | None, output: str, result: ProbeResult | None = None) -> None:
        self.code, self.output, self.result = code, output, result
        self.requests: list[ProbeRequest] = []
        self.limits: list[float] = []
        self.is_stopped = False

    def run(self, files: Sequence[Path], limit_seconds: float) -> int | None:
        request, result, output = files
        self.requests.append(ProbeRequest.read(request))
        self.limits.append(limit_seconds)
        output.write_text(self.output)
        if self.result:
            self.result.write(result)
        return self.code

    def stop(self) -> None:
        self.is_stopped = True


REF = ComponentRef("losses", "mine", "x:Mine", "reid-plugin-x", "1.0", "ok")


def test_a_probe_is_told_the_component_the_path_and_the_limit(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("relative")
    process = Scripted(0, "", ProbeResult(stage="done"))
    list(probe_all([REF], timeout_seconds=5, make_process=lambda: process))
    assert process.requests[0].ref == REF
    assert process.requests[0].path[0] == str(tmp_path / "relative")
    assert process.requests[0].timeout_seconds == 5
    assert process.limits[0] > 5, "loading torch is not counted"
    assert process.is_stopped


def test_one_that_cannot_begin_says_why() -> None:
    process = Scripted(1, "Traceback\nModuleNotFoundError: No module named 'torch'\n")
    ((_, result),) = probe_all([REF], timeout_seconds=5, make_process=lambda: process)
    assert result.findings[0].rule == "probe"
    assert result.findings[0].message == (
        "the check could not begin: ModuleNotFoundError: No module named 'torch'"
    )


def test_what_was_known_before_the_end_is_kept() -> None:
    known = ProbeResult(stage="build", import_seconds=0.5, output="noise")
    process = Scripted(None, "noise\n", known)
    ((_, result),) = probe_all([REF], timeout_seconds=5, make_process=lambda: process)
    assert (result.import_seconds, result.output) == (0.5, "noise")
    assert "was stopped after 5 s while it was built" in result.findings[0].message


def test_a_check_that_is_broken_off_stops_its_processes() -> None:
    processes: list[Scripted] = []

    def make() -> Scripted:
        processes.append(Scripted(0, "", ProbeResult(stage="done")))
        return processes[-1]

    with closing(probe_all([REF, REF, REF], timeout_seconds=5, make_process=make)) as probes:
        next(probes)
    assert processes
    assert all(process.is_stopped for process in processes)


@pytest.mark.parametrize("method", METHODS)
def test_a_stopped_process_starts_nothing(
    method: Callable[[], ProbeProcess], tmp_path: Path
) -> None:
    process = method()
    process.stop()
    assert process.run([tmp_path / name for name in "abc"], 5) is None


@pytest.mark.skipif(not probe_process.CAN_FORK, reason="needs os.fork")
def test_a_server_that_cannot_start_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('no torch here')\n")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    ((_, result),) = probe_all([REF], timeout_seconds=5, make_process=ForkingProcess)
    assert result.findings[0].message == "the check could not begin: ImportError: no torch here"
