"""The benchmark of large tables runs; what it measures is not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "million_rows.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
def test_both_tables_are_read_and_a_batch_is_taken(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    head, *rows = done.stdout.splitlines()
    assert "peak MiB" in head
    assert [row.split()[0] for row in rows] == ["1000", "2000"]
    assert all(float(row.split()[-1]) > 0 for row in rows)
