"""Plugins left out by option, setting and environment: said before anything is loaded."""

from __future__ import annotations

import json

import pytest
import yaml

PARTS = """
import torch
from torch import nn
from reid_core import HeadOutput
from reid_core.plugins.registries import BACKBONES, HEADS, LOSSES


@BACKBONES.register(name="own_backbone")
class Backbone(nn.Module):
    feature_dim = 4

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 5, stride=4)

    def forward(self, images):
        return self.conv(images)


@HEADS.register(name="own_head")
class Head(nn.Module):
    def __init__(self, *, feature_dim, num_classes):
        super().__init__()
        self.embedding_dim = feature_dim

    def forward(self, features, pids=None):
        pooled = features.mean(dim=(2, 3))
        return HeadOutput(embedding=pooled, features={"global": pooled}, logits={})


@LOSSES.register(name="own_loss")
class Loss(nn.Module):
    def forward(self, output, batch):
        return output.features["global"].square().mean()
"""


@pytest.fixture
def core_alone(tmp_path, tiny_market):
    """Options of a run that needs no plugin, its parts being in a local file."""
    (tmp_path / "parts.py").write_text(PARTS)
    recipe = {
        "model": {"backbone": "own_backbone", "head": "own_head", "losses": ["own_loss"]},
        "data": {
            "train": {"name": "market1501", "root": str(tiny_market)},
            "image_size": [64, 32],
            "batch": {"identities": 3, "instances": 4},
            "workers": 0,
        },
        "train": {"epochs": 1, "schedule": "constant"},
    }
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(recipe))
    return ["--config", "mine.yaml", "--plugin-file", "parts.py"]


def test_a_run_without_plugins_says_so_in_its_folder(run, core_alone, tmp_path):
    result = run("reid-train", *core_alone, "--no-plugins", "--output", "out")
    assert result.returncode == 0, result.stderr
    config = yaml.safe_load((tmp_path / "out/config.yaml").read_text())
    assert config["plugins"] == {"require": [], "disable": ["*"]}
    components = json.loads((tmp_path / "out/components.json").read_text())
    assert {component["dist"] for component in components} == {"reid-core", "local"}
    assert json.loads((tmp_path / "out/env.json").read_text())["plugin_api"] == 1
    file = ["--plugin-file", "parts.py"]
    assert run("reid-eval", "--checkpoint", "out", "--no-plugins", *file).returncode == 0


@pytest.mark.parametrize(
    ("options", "env", "switch"),
    [
        (["--no-plugins"], {}, "--no-plugins"),
        (["--set", "plugins.disable=['*']"], {}, "plugins.disable"),
        (["--set", "plugins.disable=[reid-plugin-losses]"], {}, "plugins.disable"),
        ([], {"REID_NO_PLUGINS": "1"}, "REID_NO_PLUGINS"),
        ([], {"REID_DISABLE_PLUGINS": "Reid_Plugin_Losses, x"}, "REID_DISABLE_PLUGINS"),
    ],
)
def test_a_disabled_component_stops_the_run_that_names_it(
    run, core_alone, tmp_path, options, env, switch
):
    losses = ["--set", "model.losses=[triplet]"]
    result = run("reid-train", *core_alone, *losses, *options, "--output", "out", env=env)
    assert result.returncode == 4
    assert "--set model.losses=[triplet]  model.losses.0: loss 'triplet' of" in result.stderr
    assert f"is disabled by {switch}; " in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_recipe_of_a_disabled_distribution_is_not_found_by_name(run):
    for command in (["reid-config", "show"], ["reid-config", "check"], ["reid-train", "--config"]):
        result = run(*command, "osnet/osnet_x0_25", "--no-plugins")
        assert result.returncode == 4
        assert "recipe 'osnet' of reid-plugin-osnet" in result.stderr
        assert "is disabled by --no-plugins; leave --no-plugins out to use it" in result.stderr


def test_the_option_is_shown_as_the_setting_it_stands_for(run, core_alone):
    result = run("reid-config", "show", "mine.yaml", "--no-plugins")
    assert yaml.safe_load(result.stdout)["plugins"]["disable"] == ["*"]


@pytest.mark.parametrize(
    ("options", "env", "message"),
    [
        (["--set", "plugins.disable=[osnt]"], {}, "did you mean reid-plugin-osnet?"),
        (["--set", "plugins.disable=[reid-core]"], {}, "reid-core cannot be disabled"),
        ([], {"REID_DISABLE_PLUGINS": "osnt"}, "REID_DISABLE_PLUGINS: osnt provides nothing here"),
    ],
)
def test_a_switch_that_cannot_be_meant_is_a_mistake(run, core_alone, options, env, message):
    file = core_alone[2:]
    result = run("reid-config", "check", "mine.yaml", *file, *options, env=env)
    assert result.returncode == 2
    assert message in result.stderr


def test_a_distribution_that_is_not_here_is_no_mistake(run, core_alone):
    file, setting = core_alone[2:], "plugins.disable=[elsewhere]"
    result = run("reid-config", "check", "mine.yaml", *file, "--set", setting)
    assert result.returncode == 0
    assert "elsewhere provides nothing here, so there is nothing to disable" in result.stderr
