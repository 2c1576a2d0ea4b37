from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

WORKER = """
import sys, time
from reid_core.data import worker_signals
worker_signals.GRACE_SECONDS = 1
worker_signals.leave_signals_to_the_parent(0)
print("ready", flush=True)
for _ in range(200):
    time.sleep(0.05)
print("not stopped", flush=True)
"""


@pytest.fixture
def worker():
    process = subprocess.Popen(
        [sys.executable, "-c", WORKER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    yield process
    process.kill()
    process.communicate()


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_a_worker_outlives_signals_to_its_group_and_leaves_cleanly_in_the_end(worker):
    for signum in (signal.SIGINT, signal.SIGUSR1, signal.SIGTERM):
        worker.send_signal(signum)
    started = time.monotonic()
    assert worker.wait(timeout=30) == 0
    assert time.monotonic() - started > 0.5, "it had time to go on"
    assert "not stopped" not in worker.communicate()[0]
