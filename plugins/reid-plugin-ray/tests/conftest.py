"""A Ray of two CPUs for all tests, and a recipe that trains in a second."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from reid_core.testing import write_tiny_market

RECIPE = """
extends: osnet/osnet_x0_25
device: cpu
data:
  train: {{name: market1501, root: '{root}'}}
  image_size: [64, 32]
  batch: {{identities: 3, instances: 4}}
  workers: 0
train: {{epochs: 2, schedule: {{warmup: null}}}}
evaluate: {{every: 1, at_start: false, details: false, batch_size: 8}}
"""


@pytest.fixture(scope="session")
def tiny_market(tmp_path_factory):
    return write_tiny_market(tmp_path_factory.mktemp("tiny"), size=(64, 32))


@pytest.fixture(scope="session")
def recipe(tmp_path_factory, tiny_market):
    """A recipe file: 2 epochs of 4 steps, an evaluation after each."""
    path = tmp_path_factory.mktemp("recipe") / "base.yaml"
    path.write_text(RECIPE.format(root=tiny_market.as_posix()), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def local_ray():
    """A Ray on this machine; gives its address."""
    ray = pytest.importorskip("ray", reason="ray is not installed: pip install reid-plugin-ray")
    # Names of sockets have a limit of 107 letters.
    folder = tempfile.mkdtemp(prefix="rr", dir="/tmp")
    before = dict(os.environ)
    os.environ.update(
        RAY_USAGE_STATS_ENABLED="0",
        RAY_AUTH_MODE="disabled",
        OMP_NUM_THREADS="1",
        RAY_CHDIR_TO_TRIAL_DIR="0",
    )
    context = ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=80 * 2**20,
        _temp_dir=folder,
        log_to_driver=False,
    )
    yield context.address_info["address"]
    ray.shutdown()
    os.environ.clear()
    os.environ.update(before)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def bin_dir():
    import sys

    return Path(sys.executable).parent
