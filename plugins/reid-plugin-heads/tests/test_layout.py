import pytest
import torch

from reid_core.errors import PluginError
from reid_plugin_heads.layout import FeatureLayout


def test_positions_of_a_map_are_its_pixels_in_row_order() -> None:
    features = torch.arange(2 * 3 * 4 * 5).float().reshape(2, 3, 4, 5)
    positions = FeatureLayout(3).positions(features)
    assert positions.shape == (2, 3, 20)
    assert torch.equal(positions[1, 2, 7], features[1, 2, 1, 2])


def test_positions_of_tokens_leave_the_prefix_out() -> None:
    tokens = torch.arange(2 * 6 * 3).float().reshape(2, 6, 3)
    positions = FeatureLayout(3, num_prefix_tokens=2).positions(tokens)
    assert positions.shape == (2, 3, 4)
    assert torch.equal(positions[1, :, 0], tokens[1, 2])


def test_tokens_without_a_prefix_are_all_positions() -> None:
    assert FeatureLayout(3, num_prefix_tokens=0).positions(torch.zeros(2, 6, 3)).shape == (2, 3, 6)


def test_the_class_token_is_the_first() -> None:
    tokens = torch.rand(2, 6, 3)
    assert torch.equal(FeatureLayout(3, num_prefix_tokens=2).class_token(tokens), tokens[:, 0])


@pytest.mark.parametrize(
    ("layout", "shape", "expected"),
    [
        (FeatureLayout(8), (2, 4, 4, 8), r"a map \(B, 8, h, w\)"),
        (FeatureLayout(8), (2, 5, 8), r"a map \(B, 8, h, w\)"),
        (FeatureLayout(8, 1), (2, 8, 4, 4), r"tokens \(B, N, 8\)"),
        (FeatureLayout(8, 1), (2, 5, 9), r"tokens \(B, N, 8\)"),
    ],
)
def test_another_shape_than_declared_is_named(
    layout: FeatureLayout, shape: tuple[int, ...], expected: str
) -> None:
    with pytest.raises(PluginError, match=expected) as caught:
        layout.positions(torch.zeros(shape))
    assert str(shape) in str(caught.value)


def test_the_class_token_of_a_wrong_shape_is_an_error_too() -> None:
    with pytest.raises(PluginError, match="num_prefix_tokens 1"):
        FeatureLayout(8, 1).class_token(torch.zeros(2, 8, 4, 4))


def test_an_image_map_is_the_map_itself() -> None:
    features = torch.rand(2, 8, 4, 3)
    assert FeatureLayout(8).image_map(features) is features


def test_an_image_map_of_another_width_is_an_error() -> None:
    with pytest.raises(PluginError, match=r"expected a map \(B, 8, h, w\)"):
        FeatureLayout(8).image_map(torch.zeros(2, 7, 4, 3))


def test_prefix_tokens_alone_cannot_be_pooled() -> None:
    with pytest.raises(PluginError, match=r"2 tokens an image.*no patch token"):
        FeatureLayout(8, 2).positions(torch.zeros(3, 2, 8))
