"""The benchmarks run; what they measure is not looked at."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"


@pytest.mark.slow
def test_plugin_overhead_times_every_case(tmp_path):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "plugin_overhead.py", "--quick"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for name in (
        "python -c pass",
        "import importlib_metadata",
        "import click",
        "reid-train --help",
        "reid-plugins list",
        "reid-plugins list, 20 more",
        "plain for loop",
        "0 hooks",
        "1 hooks",
        "10 hooks",
        "20 hooks",
    ):
        (row,) = [line for line in lines if line[:28].rstrip() == name]
        numbers = [float(cell) for cell in row[28:].split()]
        assert len(numbers) == 5
        assert min(numbers[0], numbers[3]) > 0
    assert "all hook calls of a step with 10 hooks" in lines[-1]


def test_reranking_equals_the_published_algorithm_phase_by_phase(tmp_path):
    sizes = ["--queries", "60", "--gallery", "300", "--dim", "32"]
    done = subprocess.run(
        [sys.executable, BENCHMARKS / "rerank.py", *sizes],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "60 queries, 300 gallery entries, 32 dimensions" in done.stdout
    rows = ("matrix products, s", "neighbours, s", "sets, s", "Jaccard distances, s", "total, s")
    for title in (*rows, "peak added memory, MB"):
        (row,) = [line for line in done.stdout.splitlines() if line[:26].rstrip() == title]
        assert len(row[26:].split()) == 2
    difference = re.search(r"largest difference of the distances: (\S+)", done.stdout)
    assert difference
    assert float(difference[1]) < 1e-4


def run(name, *options, folder):
    done = subprocess.run(
        [sys.executable, BENCHMARKS / name, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_step_is_timed_beside_a_bare_loop(tmp_path):
    model = ["--backbone", "resnet18", "--batch", "8", "--size", "64", "32"]
    options = ["--steps", "2", "--starts", "1", "--modes", "bf16 channels_last"]
    lines = run("train.py", *model, *options, folder=tmp_path).splitlines()
    (row,) = [line for line in lines if line.startswith("bf16 channels_last")]
    numbers = [float(cell) for cell in row[20:].split()]
    assert len(numbers) == 7
    assert min(numbers) > 0
    assert "end of its first step" in lines[-1]


def test_the_benchmark_for_gpus_runs_on_a_cpu(tmp_path):
    table = run("gpu.py", "--device", "cpu", "--quick", folder=tmp_path)
    for what in (
        "loss triplet",
        "embed OSNet x1.0, bf16",
        "train resnet18, batch 8, fp32",
        "train vit_tiny_patch16_224, batch 16, bf16",
        "evaluate small, 60 x 300 x 32",
        "re-rank larger, 100 x 600 x 32",
        "all of it",
    ):
        assert table.count(f"| {what} | ") == 1


def test_every_benchmark_is_described():
    text = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    documented = re.findall(r"^\| `(\w+\.py)` \|", text, re.M)
    assert sorted(documented) == sorted(path.name for path in BENCHMARKS.glob("*.py"))
