"""The benchmark of OSNet compares networks that compute the same; its times are not looked at."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import torch

SCRIPT = Path(__file__).resolve().parents[1] / "benchmarks" / "osnet_step.py"


@pytest.fixture(scope="module")
def benchmark():
    spec = importlib.util.spec_from_file_location("osnet_step", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["osnet_step"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["osnet_step"]


def test_reference_and_ours_have_the_same_loss_and_gradients(benchmark):
    generator = torch.Generator().manual_seed(1)
    # float64, for ReLUs turn rounding into jumps of the gradient.
    images = torch.randn(4, 3, 64, 32, generator=generator, dtype=torch.float64)
    rows = [row for row in benchmark.build_rows(0.25) if row.dtype is None]
    for row in rows:
        row.model.double()
        row.step(images, torch.arange(4))
    reference, *others = rows
    assert len(others) == 2
    expected = {name: p.grad for name, p in reference.model.named_parameters()}
    for row in others:
        assert row.losses == pytest.approx(reference.losses, rel=1e-6)
        assert [name for name, _ in row.model.named_parameters()] == list(expected)
        for name, parameter in row.model.named_parameters():
            torch.testing.assert_close(parameter.grad, expected[name], rtol=1e-4, atol=1e-7)


def test_it_prints_a_row_for_each_way(tmp_path):
    options = ["--width", "0.25", "--batch", "4", "--size", "64", "32", "--turns", "1"]
    done = subprocess.run(
        [sys.executable, SCRIPT, *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    head, columns, *rows = done.stdout.splitlines()
    assert "OSNet x0.25, batch 4 of (64, 32)" in head
    assert columns.split() == ["ms", "ratio", "CPU", "ms", "ratio", "first", "loss"]
    assert [row[:32].rstrip() for row in rows] == [
        "torchreid's layout, float32",
        "ours, float32",
        "ours, float32, channels_last",
        "ours, bf16",
        "ours, bf16, channels_last",
    ]
    assert all(len(row[32:].split()) == 5 for row in rows)
