"""Going on with a run whose plugin is another one now, or gone: refused before data is read."""

from __future__ import annotations

import shutil

import pytest

LOSS = """
from torch import nn


class Small(nn.Module):
    def forward(self, output, batch):
        return output.features["global"].square().mean()
"""


@pytest.fixture
def plugin(tmp_path):
    """Install a distribution into a folder, and return the environment that has it."""

    def install(dist: str, version: str = "0.3.1", name: str = "small") -> dict[str, str]:
        root = tmp_path / f"{dist}-{version}"
        info = root / f"{dist.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: {version}\n")
        module = dist.replace("-", "_")
        (info / "entry_points.txt").write_text(f"[reid_core.losses]\n{name} = {module}:Small\n")
        (root / f"{module}.py").write_text(LOSS)
        return {"PYTHONPATH": str(root)}

    return install


def test_a_run_is_not_resumed_without_the_plugin_it_was_made_with(
    run, small_osnet, plugin, tiny_market, tmp_path
):
    data = tmp_path / "data"
    shutil.copytree(tiny_market, data)
    root = f"data.train={{name: market1501, root: '{data.as_posix()}'}}"
    options = [*small_osnet, "--set", root, "--set", "model.losses=[small]", "--set", "epochs=1"]
    first = plugin("reid-plugin-small")
    options += ["--set", "plugins.require=[reid-plugin-small]", "--output", "mine"]
    assert run("reid-train", *options, env=first).returncode == 0
    newer = run("reid-train", "--resume", "mine", env=plugin("reid-plugin-small", "0.4"))
    assert newer.returncode == 0, newer.stderr
    assert "resume: losses small is reid-plugin-small 0.4, was reid-plugin-small 0" in newer.stderr

    # An embedding needs no loss, so evaluation goes on without the package.
    evaluated = run("reid-eval", "--checkpoint", "mine", "--no-details")
    assert evaluated.returncode == 0, evaluated.stderr

    # What the commands say now, they say without the data.
    shutil.rmtree(data)
    checkpoint = next((tmp_path / "mine/checkpoints").glob("step_*.pt"))
    for arguments in (
        ["reid-train", "--resume", "mine"],
        ["reid-train", "--resume", "mine", "--check"],
        ["reid-train", "--resume", "mine", "--eval-only"],
        ["reid-train", "--resume", checkpoint],
        ["reid-train", *options, "--resume"],
    ):
        gone = run(*arguments)
        assert gone.returncode == 4, arguments
        # The list of the folder is of the newest start, a checkpoint's of the run that wrote it.
        version = "0.3.1" if checkpoint in arguments else "0.4"
        assert f"made with loss 'small' of reid-plugin-small {version}, which" in gone.stderr
        assert f"is not installed; pip install 'reid-plugin-small=={version}'" in gone.stderr

    other = run("reid-train", "--resume", "mine", env=plugin("reid-plugin-other", "1.0"))
    assert other.returncode == 4
    assert "and the name is reid-plugin-other 1.0 (reid_plugin_other:Small)'s now" in other.stderr

    without = run("reid-train", "--resume", "mine", env=plugin("reid-plugin-small", "0.5", "big"))
    assert without.returncode == 4
    assert "and version 0.5, which is installed, does not have it; pip install" in without.stderr
