"""Runs that can be killed, and comparing what is left of two of them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from queue import Queue

import pytest
import torch

NURSERY = Path(__file__).with_name("nursery.py")


class Life:
    """One process of a run."""

    def __init__(self, pid: int, log: Path) -> None:
        self.pid = pid
        self.log = log
        self.code: int | None = None
        self.ended = threading.Event()

    def kill(self) -> None:
        """Send SIGKILL."""
        if not self.ended.is_set():
            os.kill(self.pid, signal.SIGKILL)

    def until(self, condition: Callable[[], bool], seconds: float) -> bool:
        """Look again and again, until it is so, the process has ended, or the time is over."""
        end = time.monotonic() + seconds
        # A file that is there for a few milliseconds is not missed, and the run has the core.
        while time.monotonic() < end and not self.ended.wait(0.0005):
            if condition():
                return True
        return False

    def wait(self, seconds: float) -> int:
        """Wait for the end and return the exit code; below 0 for a signal."""
        if not self.ended.wait(seconds):
            self.kill()
            text = self.log.read_text(errors="replace")[-4000:]
            pytest.fail(f"process {self.pid} did not end in {seconds} s; it wrote:\n{text}")
        assert self.code is not None
        return self.code


class Nursery:
    """Starts runs; see ``nursery.py``."""

    def __init__(self) -> None:
        self._server = subprocess.Popen(
            [sys.executable, str(NURSERY)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        self._born: Queue[int] = Queue()
        self._lives: dict[int, Life] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self._born.get(timeout=120)

    def start(self, *argv: object, log: Path, **env: object) -> Life:
        """Start ``reid-train`` with arguments and further environment variables."""
        record = {"argv": list(map(str, argv)), "env": env, "log": str(log)}
        assert self._server.stdin is not None
        self._server.stdin.write((json.dumps(record) + "\n").encode())
        self._server.stdin.flush()
        life = self._lives[self._born.get(timeout=60)]
        life.log = log
        return life

    def close(self) -> None:
        """Kill what is left, and end the server."""
        for life in self._lives.values():
            life.kill()
        assert self._server.stdin is not None
        self._server.stdin.close()
        self._server.wait(30)

    def _read(self) -> None:
        assert self._server.stdout is not None
        for line in self._server.stdout:
            facts = json.loads(line)
            if "ready" in facts:
                self._born.put(0)
            elif "code" in facts:
                life = self._lives[facts["pid"]]
                life.code = facts["code"]
                life.ended.set()
            else:
                self._lives[facts["pid"]] = Life(facts["pid"], Path(os.devnull))
                self._born.put(facts["pid"])


@pytest.fixture(scope="session")
def nursery() -> Iterator[Nursery]:
    """Start processes quickly."""
    made = Nursery()
    yield made
    made.close()


class Left:
    """What is left of runs."""

    @staticmethod
    def newest(run: Path) -> dict[str, object]:
        """Return the newest checkpoint of a run."""
        path = max((run / "checkpoints").glob("step_*.pt"))
        return torch.load(path, weights_only=True)

    @staticmethod
    def rows(run: Path) -> list[dict[str, object]]:
        """Return the rows of the log, without what a clock says."""
        lines = (run / "metrics.jsonl").read_text().splitlines()
        return [
            {k: v for k, v in json.loads(line).items() if not k.startswith(("time", "eta"))}
            for line in lines
        ]

    @staticmethod
    def differences(one: object, other: object, path: str = "") -> list[str]:
        """Return where two states differ by a single bit."""
        if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
            same = one.dtype == other.dtype and torch.equal(one, other)
            return [] if same else [path]
        if isinstance(one, dict) and isinstance(other, dict):
            keys = [*one, *(k for k in other if k not in one)]
            return [
                difference
                for key in keys
                for difference in Left.differences(one.get(key), other.get(key), f"{path}.{key}")
            ]
        if isinstance(one, list | tuple) and isinstance(other, list | tuple):
            if len(one) != len(other):
                return [path]
            return [
                difference
                for number, (a, b) in enumerate(zip(one, other, strict=True))
                for difference in Left.differences(a, b, f"{path}.{number}")
            ]
        return [] if one == other or (one != one and other != other) else [path]


@pytest.fixture
def left() -> type[Left]:
    """Compare what is left of two runs."""
    return Left
