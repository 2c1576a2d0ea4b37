"""The processes in which components are looked at."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

# -P: the working folder is no place that modules are installed in.
_COMMAND = (sys.executable, "-P", "-m", "reid_core.inspection.probe")

#: Forking saves loading torch each time. Elsewhere it is not there, or not safe after that.
CAN_FORK = sys.platform == "linux"


class ProbeProcess(Protocol):
    """Runs probes one after the other."""

    def run(self, files: Sequence[Path], limit_seconds: float) -> int | None:
        """Run one to its end.

        Args:
            files: Its request, its result, its output.
            limit_seconds: When it is stopped.

        Returns:
            Its exit code; minus the number of the signal that ended it.
        """
        ...

    def stop(self) -> None:
        """Stop what runs, for good."""
        ...


class FreshProcess:
    """Starts a process for each probe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self, files: Sequence[Path], limit_seconds: float) -> int | None:
        """Run one probe; see :class:`ProbeProcess`."""
        with self._lock, files[2].open("ab") as output:
            if self._is_stopped:
                return None
            process = self._process = subprocess.Popen(
                [*_COMMAND, *map(str, files)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        try:
            return process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            with self._lock:
                self._process = None
            _end(process)

    def stop(self) -> None:
        """Stop the probe that runs."""
        with self._lock:
            self._is_stopped = True
            if self._process is not None:
                _end(self._process)


class ForkingProcess:
    """Starts one process, which loads torch once and forks for each probe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: subprocess.Popen[str] | None = None
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 — closed by stop
        self._child = 0
        self._is_stopped = False

    def run(self, files: Sequence[Path], limit_seconds: float) -> int | None:
        """Run one probe; see :class:`ProbeProcess`."""
        with self._lock:
            server = self._running_server()
        if server is None:
            return None
        watchdog = threading.Timer(limit_seconds, self._end_all)
        watchdog.start()
        try:
            return self._ask(server, files)
        finally:
            watchdog.cancel()
            # What the probe has started and left running.
            _end_group(self._child)
            self._child = 0

    def stop(self) -> None:
        """Stop the process, and the probe that runs."""
        with self._lock:
            self._is_stopped = True
            self._end_all()
        self._log.close()

    def _running_server(self) -> subprocess.Popen[str] | None:
        if self._is_stopped:
            return None
        if self._server is None or self._server.poll() is not None:
            self._server = subprocess.Popen(
                [*_COMMAND, "--serve"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                start_new_session=True,
                text=True,
            )
        return self._server

    def _ask(self, server: subprocess.Popen[str], files: Sequence[Path]) -> int | None:
        assert server.stdin is not None
        assert server.stdout is not None
        with suppress(BrokenPipeError):
            server.stdin.write("\t".join(map(str, files)) + "\n")
            server.stdin.flush()
            self._child = int(server.stdout.readline() or 0)
            if answer := server.stdout.readline():
                return int(answer)
        # The server itself is gone: what it said last is the reason.
        code = server.wait()
        with suppress(ValueError):  # closed meanwhile
            self._log.seek(0)
            files[2].write_text(self._log.read(), encoding="utf-8")
        return code

    def _end_all(self) -> None:
        _end_group(self._child)
        if self._server is not None and self._server.poll() is None:
            _end(self._server)


def new_process() -> ProbeProcess:
    """Return a way to run probes that suits this platform."""
    return ForkingProcess() if CAN_FORK else FreshProcess()


def _end(process: subprocess.Popen[str] | subprocess.Popen[bytes]) -> None:
    """End a process that leads a group, and what it has started itself."""
    if hasattr(os, "killpg"):
        _end_group(process.pid)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _end_group(number: int) -> None:
    if number > 0:  # nobody's otherwise, or this process's own
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(number, signal.SIGKILL)
