"""``reid-eval`` under torchrun: the same figures, printed and written once."""

import json
import os
import re
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from reid_core.config import Config
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.measure import evaluate_model
from reid_core.engine.evaluation.weights import config_of_weights, load_model
from reid_core.engine.record.weights_info import WeightsInfo, find_weights
from reid_core.plugins.local_files import load_plugin_file
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES
from reid_core.testing import write_tiny_market

PARTS = """
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES
from reid_core.testing.tiny_model import TinyBackbone, TinyHead, TinyLoss

BACKBONES.register(TinyBackbone, name="small_backbone")
HEADS.register(TinyHead, name="small_head")
LOSSES.register(TinyLoss, name="small_loss")
"""
COMPONENTS = {
    "backbone": {"name": "small_backbone"},
    "head": {"name": "small_head"},
    "losses": [{"name": "small_loss"}],
}


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    """The file that a run is made of is unknown afterwards, to other tests of the process too."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    for registry in (BACKBONES, HEADS, LOSSES):
        monkeypatch.setattr(registry, "_local", dict(registry._local))
    yield
    sys.modules.pop("small_parts", None)


@pytest.fixture
def run_folder(tmp_path):
    """A run of one epoch, of components that a file of the same folder registers."""
    (tmp_path / "small_parts.py").write_text(PARTS)
    load_plugin_file(str(tmp_path / "small_parts.py"))
    images = write_tiny_market(tmp_path / "images")
    config = Config.model_validate(
        {
            "model": COMPONENTS,
            "data": {
                "train": [{"name": "market1501", "root": str(images)}],
                "image_size": [32, 16],
                "batch": {"sampler": "identity", "identities": 3, "instances": 4},
                "workers": 0,
            },
            "train": {"epochs": 1, "schedule": {"name": "constant"}},
            "output": str(tmp_path / "run"),
        }
    )
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.train()
    return tmp_path / "run"


def launch(folder, *options):
    """Run the command in two processes."""
    torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [
            *(sys.executable, "-m", *torchrun, "-m", "reid_core.cli.evaluate"),
            *("--plugin-file", "small_parts.py", "--checkpoint", "run"),
            *("--set", "evaluate.batch_size=3", *options),
        ],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_two_processes_print_and_write_once_what_one_does_and_fail_together(run_folder, tmp_path):
    flip = "evaluate.features.flip=true"
    two = launch(tmp_path, "--set", flip, "--json", "--output", "both")
    assert two.returncode == 0, two.stderr
    weights = find_weights(run_folder)
    config = config_of_weights(weights, [flip, "evaluate.batch_size=3"])
    (expected,) = evaluate_model(config, load_model(config, weights), WeightsInfo.of(weights))
    assert json.loads(two.stdout)["evaluations"] == [asdict(expected)]
    assert len(re.findall("2 processes", two.stderr)) == 1
    assert (tmp_path / "both").is_dir()

    market = Path(config.data.test_sets[0].parameters["root"])
    sorted((market / "bounding_box_test").iterdir())[0].write_bytes(b"")
    failed = launch(tmp_path)
    assert failed.returncode != 0
    told = re.findall(r"^error: (.*)$", failed.stderr, re.M)
    (own,) = [line for line in told if line.startswith("image ")]
    assert "is empty" in own
    # The other may be ended by torchrun before it can say so.
    assert all(own in line for line in told)
    assert "mAP" not in failed.stdout
