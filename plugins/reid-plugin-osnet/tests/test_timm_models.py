"""The family under timm's own ``create_model``."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from reid_core.errors import ConfigError, PluginError
from reid_plugin_osnet import timm_models
from reid_plugin_osnet.osnet import osnet_x0_25
from reid_plugin_osnet.osnet_ain import osnet_ain_x0_25

timm = pytest.importorskip("timm")
NAMES = [
    f"{network}_{width}"
    for network in ("osnet", "osnet_ibn", "osnet_ain")
    for width in ("x1_0", "x0_75", "x0_5", "x0_25")
]


@pytest.fixture
def registered() -> Iterator[tuple[str, ...]]:
    """Register the family, and take it out of timm again."""
    yield timm_models.register()
    for name in NAMES:
        timm.models._registry._clear_model_entries(name)
        timm.models._registry._model_entrypoints.pop(name, None)


@pytest.fixture
def images() -> Tensor:
    return torch.randn(2, 3, 64, 32, generator=torch.Generator().manual_seed(0))


def test_importing_registers_nothing():
    code = (
        "import reid_plugin_osnet.timm_models, reid_plugin_osnet.timm_network, sys\n"
        "assert 'timm' not in sys.modules\n"
        "import reid_plugin_osnet.timm_entries, timm\n"
        "assert timm.list_models('osnet*') == []"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_all_names_are_registered_and_once_more_changes_nothing(registered):
    assert sorted(registered) == sorted(NAMES)
    assert sorted(timm.list_models("osnet*")) == sorted(NAMES)
    entry = timm.models.model_entrypoint("osnet_x1_0")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert timm_models.register() == registered
    assert timm.models.model_entrypoint("osnet_x1_0") is entry


def test_a_taken_name_is_refused_and_then_none_is_registered():
    def osnet_ibn_x1_0(pretrained: bool = False) -> nn.Module:
        return nn.Identity()

    timm.models.register_model(osnet_ibn_x1_0)
    try:
        with pytest.raises(PluginError, match="osnet_ibn_x1_0 already"):
            timm_models.register()
        assert timm.models.model_entrypoint("osnet_ibn_x1_0") is osnet_ibn_x1_0
        assert timm.list_models("osnet*") == ["osnet_ibn_x1_0"]
    finally:
        timm.models._registry._clear_model_entries("osnet_ibn_x1_0")
        timm.models._registry._model_entrypoints.pop("osnet_ibn_x1_0", None)


def test_without_timm_the_extra_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "timm", None)
    with pytest.raises(PluginError, match=r"pip install 'reid-plugin-osnet\[timm\]'"):
        timm_models.register()


@pytest.mark.parametrize(
    ("name", "factory"), [("osnet_x0_25", osnet_x0_25), ("osnet_ain_x0_25", osnet_ain_x0_25)]
)
def test_without_classes_timm_gives_our_embedding(registered, images, name, factory):
    ours = factory().eval()
    theirs = timm.create_model(name, num_classes=0).eval()
    theirs.load_state_dict(ours.state_dict())
    torch.testing.assert_close(theirs(images), ours(images).flatten(1))


def test_the_feature_interface_is_that_of_a_timm_model(registered, images):
    model = timm.create_model("osnet_x0_25", num_classes=7, drop_rate=0.1).eval()
    features = model.forward_features(images)
    assert features.shape == (2, model.num_features, 4, 2) == (2, 128, 4, 2)
    embedding = model.forward_head(features, pre_logits=True)
    assert embedding.shape == (2, model.head_hidden_size) == (2, 512)
    logits = model(images)
    assert logits.shape == (2, 7)
    torch.testing.assert_close(logits, model.get_classifier()(embedding))
    assert model.pretrained_cfg["input_size"] == (3, 256, 128)
    assert model.pretrained_cfg["classifier"] == "classifier"
    assert model.pretrained_cfg["mean"] == (0.485, 0.456, 0.406)


def test_the_classifier_can_be_reset(registered, images):
    model = timm.create_model("osnet_x0_25").eval()
    assert (model.num_classes, model(images).shape) == (1000, (2, 1000))
    model.reset_classifier(5)
    assert (model.num_classes, model(images).shape) == (5, (2, 5))
    model.reset_classifier(0)
    assert model(images).shape == (2, 512)
    model.reset_classifier(0, "")
    torch.testing.assert_close(model(images), model.forward_features(images))
    model.reset_classifier(3, "avg")
    assert model(images).shape == (2, 3)


def test_features_only_gives_a_map_of_each_resolution(registered, images):
    for name in ("osnet_x0_25", "osnet_ibn_x0_25", "osnet_ain_x0_25"):
        model = timm.create_model(name, features_only=True).eval()
        assert model.feature_info.reduction() == [2, 4, 8, 16]
        shapes = [tuple(feature.shape[1:]) for feature in model(images)]
        assert shapes == [(16, 32, 16), (64, 16, 8), (96, 8, 4), (128, 4, 2)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"in_chans": 1}, "in_chans is 1, expected 3"),
        ({"global_pool": "max", "num_classes": 0}, "global_pool is 'max', expected 'avg'"),
        ({"global_pool": "", "num_classes": 5}, "5 classes need a vector; set num_classes=0"),
    ],
)
def test_what_cannot_be_built_is_refused(registered, options, message):
    with pytest.raises(ConfigError, match=message):
        timm.create_model("osnet_x0_25", **options)


def test_gradient_checkpointing_is_refused(registered):
    model = timm.create_model("osnet_x0_25")
    model.set_grad_checkpointing(False)
    with pytest.raises(ConfigError, match="no gradient checkpointing"):
        model.set_grad_checkpointing()


@pytest.mark.parametrize("name", ["osnet_x0_25", "osnet_ain_x0_25"])
def test_timms_parameter_groups_are_ours_with_embedding_and_last_convolution_as_one(
    registered, name
):
    from timm.models._manipulate import group_with_matcher

    model = timm.create_model(name, num_classes=0)
    grouped = group_with_matcher(model.named_parameters(), model.group_matcher())
    ours = model.layer_groups()
    assert list(grouped.values()) == [*ours[:-2], ours[-2] + ours[-1]]
    coarse = group_with_matcher(model.named_parameters(), model.group_matcher(coarse=True))
    assert len(coarse) == 5


def test_released_weights_load_from_a_local_file(registered, images, tmp_path: Path):
    state = osnet_x0_25().state_dict() | {
        "classifier.weight": torch.randn(7, 512),
        "classifier.bias": torch.randn(7),
    }
    torch.save(state, tmp_path / "osnet.pth")
    model = timm.create_model(
        "osnet_x0_25",
        num_classes=0,
        pretrained=True,
        pretrained_cfg_overlay={"file": str(tmp_path / "osnet.pth")},
    )
    ours = osnet_x0_25(weights=str(tmp_path / "osnet.pth")).eval()
    torch.testing.assert_close(model.eval()(images), ours(images).flatten(1))
