"""The package that the plugin page builds works: installed, listed, checked, trained, resumed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

# One process for all of them: they share what is slow to make.
pytestmark = pytest.mark.xdist_group("docs_tutorial")

ENTRY = "import sys; from reid_core.cli import {module}; sys.exit({module}.main(sys.argv[1:]))"


@pytest.fixture(scope="module")
def package(page, tmp_path_factory):
    """The files of the page, and the metadata that an installer makes of its pyproject.toml."""
    folder = tmp_path_factory.mktemp("plugin")
    section = page("docs/plugins.md").section("A package")
    for block in section.blocks("toml", "py", "yml"):
        path = folder / block.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    info = folder / "src" / f"reid_plugin_small-{project['version']}.dist-info"
    info.mkdir()
    requires = "".join(f"Requires-Dist: {text}\n" for text in project["dependencies"])
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n{requires}"
    )
    groups = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in entries.items())
        for group, entries in project["entry-points"].items()
    ]
    (info / "entry_points.txt").write_text("\n".join(groups))
    return folder


@pytest.fixture(scope="module")
def call(package, picture_cache):
    """Run one of our commands with the package on the path."""

    def run(module, *arguments):
        return subprocess.run(
            [sys.executable, "-c", ENTRY.format(module=module), *arguments],
            cwd=package,
            env={
                **os.environ,
                "PYTHONPATH": str(package / "src"),
                "REID_CACHE": str(picture_cache),
                "OMP_NUM_THREADS": "1",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_it_is_listed(call):
    result = call("plugins", "list", "--dist", "reid-plugin-small", "--json")
    listed = json.loads(result.stdout)["components"]
    assert {(one["kind"], one["name"], one["status"]) for one in listed} == {
        ("backbones", "small", "ok"),
        ("heads", "average", "ok"),
        ("losses", "centre", "ok"),
        ("hooks", "gradient_norm", "ok"),
        ("recipes", "small", "ok"),
    }


def test_it_trains_and_resumes(call, package):
    run = Path("runs/tutorial")
    result = call("train", "--config", "small/tiny", "--output", str(run), "--device", "cpu")
    assert result.returncode == 0, result.stderr
    log = (package / run / "metrics.jsonl").read_text()
    rows = [json.loads(line) for line in log.splitlines()]
    assert [row["step"] for row in rows if "gradient_norm" in row] == [2, 4, 6, 8]
    assert any("centre/distance" in row for row in rows)
    again = call("train", "--resume", str(run), "--set", "train.epochs=3")
    assert again.returncode == 0, again.stderr
    assert json.loads((package / run / "status.json").read_text())["step"] == 12


def test_the_centres_have_their_own_learning_rate(package, monkeypatch):
    monkeypatch.syspath_prepend(str(package / "src"))
    from reid_plugin_small.loss import CentreLoss
    from torch import nn

    from reid_core.config.components import OptimizerConfig
    from reid_core.optim import build_optimizer

    model = nn.Sequential(nn.Linear(3, 2), CentreLoss(num_classes=4, feature_dim=2))
    optimizer = build_optimizer(OptimizerConfig(name="sgd", lr=0.1), model)
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]
