"""The benchmark of the loader runs; what it measures is not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "loader.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_every_loader_is_timed_and_its_memory_read(tmp_path):
    pytest.importorskip("lmdb")
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    throughput, memory = done.stdout.split("\n\n")
    _, _, *rows = throughput.splitlines()
    assert [(row[:26].rstrip(), row[26:34].strip()) for row in rows] == [
        ("decoding alone, Pillow", "-"),
        ("decoding alone, ours", "-"),
        *[(name, n) for n in "012" for name in ("usual", "ours, files", "ours, packed")],
    ]
    assert all(min(map(float, row[34:].split())) > 0 for row in rows)
    rows = [line for line in memory.splitlines()[3:] if "growth" not in line]
    assert [row.split()[:3] for row in rows] == [
        [kind, "fork", count] for kind in ("ours", "tuples") for count in ("1000", "2000")
    ]
    assert all(min(map(float, row.split()[3:])) > 0 for row in rows)
