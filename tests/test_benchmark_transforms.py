"""The benchmark of the transforms runs; what it measures is not looked at."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "transforms.py"


def test_every_pipeline_is_timed(tmp_path):
    done = subprocess.run(
        [sys.executable, SCRIPT, "--images", "4", "--batch", "2", "--rounds", "1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    _, *rows = done.stdout.splitlines()
    assert [row[:34].rstrip() for row in rows] == [
        "Pillow and torchvision, bicubic",
        "ours, bicubic",
        "ours, bilinear",
        "ours, bicubic, worker's part",
        "ours, bilinear, worker's part",
        "decoding alone, Pillow",
        "decoding alone, ours",
    ]
    assert all(min(map(float, row[34:].split())) > 0 for row in rows)
