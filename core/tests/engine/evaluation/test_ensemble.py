"""Several models as one: by plain formulas, and only where one image serves all of them."""

import logging
from pathlib import Path

import numpy as np
import pytest
import torch

from reid_core.config import Config
from reid_core.contracts import ReidModel
from reid_core.data.cameras import CameraMap
from reid_core.engine.evaluation.ensemble import EnsembleModel, ensemble_of, require_same_images
from reid_core.engine.record.weights_info import WeightsInfo
from reid_core.engine.results import feature_of
from reid_core.errors import ConfigError, PluginError, UsageError


class Colours(ReidModel):
    """Some channels of the first pixel, times a factor that normalisation takes away."""

    def __init__(self, channels, factor=1.0, conditions=()):
        super().__init__()
        self.channels, self.factor, self.conditions = channels, factor, conditions

    def embed(self, images, camids=None, viewids=None):
        found = self.factor * images[:, self.channels, 0, 0]
        return found if camids is None else found + camids[:, None]


IMAGES = torch.rand(5, 3, 4, 2, generator=torch.Generator().manual_seed(0))
FIRST, SECOND = Colours([0, 1]), Colours([2, 1], factor=7.0)


def info(path="a.pt", cameras=None, **data):
    plain = Config.model_validate({"data": data}).plain()
    return WeightsInfo(Path(path), plain, cameras=cameras)


def slow_cosines(model):
    """Cosine of every two images, a pair at a time."""
    found = model.embed(IMAGES)
    return np.array(
        [[float(a @ b / (a.norm() * b.norm())) for b in found] for a in found], dtype=np.float64
    )


def test_the_cosine_of_a_concatenation_is_the_mean_of_the_cosines():
    ensemble = EnsembleModel([FIRST, SECOND], how="concat")
    found = ensemble.embed(IMAGES)
    assert found.shape == (5, 4)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(5))
    expected = (slow_cosines(FIRST) + slow_cosines(SECOND)) / 2
    np.testing.assert_allclose((found @ found.T).numpy(), expected, atol=1e-6)


def test_the_mean_is_that_of_embeddings_of_length_one():
    found = EnsembleModel([FIRST, SECOND], how="mean").embed(IMAGES)
    for row, image in zip(found, IMAGES, strict=True):
        red, green, blue = image[:, 0, 0].tolist()
        one = np.array([red, green]) / np.hypot(red, green)
        other = np.array([blue, green]) / np.hypot(blue, green)
        np.testing.assert_allclose(row.numpy(), (one + other) / 2, atol=1e-6)


def test_a_mean_of_other_widths_is_refused_with_both():
    ensemble = EnsembleModel([FIRST, Colours([0, 1, 2])], how="mean")
    with pytest.raises(PluginError, match=r"widths 2, 3 .*use --ensemble concat"):
        ensemble.embed(IMAGES)
    assert EnsembleModel([FIRST, Colours([0, 1, 2])], how="concat").embed(IMAGES).shape == (5, 5)


def test_a_condition_reaches_the_member_that_wants_it_and_no_other():
    asking = Colours([0, 1], conditions=("camids",))
    ensemble = EnsembleModel([FIRST, asking], how="concat")
    assert ensemble.conditions == ("camids",)
    camids = torch.arange(5)
    found = ensemble.embed(IMAGES, camids=camids) * 2**0.5
    expected = torch.nn.functional.normalize(asking.embed(IMAGES, camids), dim=1)
    torch.testing.assert_close(found[:, 2:], expected)
    torch.testing.assert_close(found[:, :2], torch.nn.functional.normalize(FIRST.embed(IMAGES)))


def test_what_it_is_is_said_in_words():
    three = EnsembleModel([FIRST, SECOND, FIRST], how="concat")
    assert three.embedding_note == "concatenation of 3 models, each L2-normalised"
    assert EnsembleModel([FIRST, SECOND], how="mean").embedding_note.startswith("mean of 2 models")


def test_the_sides_of_the_necks_are_told_where_members_tell():
    before, after = Colours([0]), Colours([1])
    before.test_feature, after.test_feature = "before", "after"
    assert feature_of(EnsembleModel([before, after, FIRST], how="concat")) == "before, after"
    assert feature_of(EnsembleModel([after, after], how="concat")) == "after"
    assert feature_of(EnsembleModel([FIRST, SECOND], how="concat")) == ""


def test_one_model_and_another_way_are_refused():
    with pytest.raises(UsageError, match="an ensemble of 1 models; expected at least two"):
        ensemble_of([FIRST], "concat")
    with pytest.raises(UsageError, match="ensemble 'sum'; expected concat or mean"):
        ensemble_of([FIRST, SECOND], "sum")


def test_a_mean_warns_and_a_concatenation_does_not(caplog):
    with caplog.at_level(logging.WARNING):
        assert not ensemble_of([FIRST, SECOND], "concat").training
        assert not caplog.records
        ensemble_of([FIRST, SECOND], "mean")
    assert "where models share a space" in caplog.text


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ({"image_size": [384, 128]}, r"data.image_size is .*256, 128.* for a.pt and .*384, 128"),
        ({"mean": [0.5, 0.5, 0.5]}, "data.mean is .* for b.pt"),
        ({"resize": "letterbox"}, "data.resize is stretch for a.pt and letterbox for b.pt"),
    ],
)
def test_models_of_other_images_are_refused_with_both_values(setting, words):
    first = info(image_size=[256, 128])
    require_same_images([first, info("c.pt", image_size=[256, 128]), WeightsInfo(Path("raw.pt"))])
    other = info("b.pt", **{"image_size": [256, 128], **setting})
    with pytest.raises(ConfigError, match=words):
        ensemble_of([FIRST, SECOND], "concat", [first, other])


def test_models_of_other_cameras_are_refused_where_one_is_conditioned_on_them():
    maps = [CameraMap((("set", np.array(cameras)),)) for cameras in ([1, 2], [1, 2], [1, 3])]
    infos = [info(f"{name}.pt", cameras) for name, cameras in zip("abc", maps, strict=True)]
    asking = Colours([0, 1], conditions=("camids",))
    ensemble_of([asking, FIRST], "concat", infos[:2])
    ensemble_of([FIRST, SECOND], "concat", infos[1:])
    with pytest.raises(ConfigError, match=r"of b.pt and c.pt are conditioned on cameras"):
        ensemble_of([asking, FIRST], "concat", infos[1:])
