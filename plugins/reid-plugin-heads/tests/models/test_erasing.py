from typing import cast

import pytest
import torch
from torch import Tensor

from reid_core.errors import ConfigError
from reid_plugin_heads.models.erasing import BandErasing, EraseName, TopErasing, build_erasing


def feature_map(batch: int = 4, height: int = 12, seed: int = 0) -> Tensor:
    return torch.randn(batch, 5, height, 3, generator=torch.Generator().manual_seed(seed))


def erased_rows(values: Tensor) -> list[list[int]]:
    return [[row for row in range(image.shape[1]) if not image[:, row].any()] for image in values]


def most_active_by_hand(features: Tensor, count: int) -> list[list[int]]:
    found = []
    for image in features.tolist():
        height, width = len(image[0]), len(image[0][0])
        activity = [
            max(sum(channel[row][column] ** 2 for channel in image) for column in range(width))
            for row in range(height)
        ]
        found.append(sorted(sorted(range(height), key=lambda row: -activity[row])[:count]))
    return found


@pytest.mark.parametrize(("ratio", "count"), [(0.33, 4), (0.25, 3), (0.01, 1), (0.99, 11)])
def test_the_most_active_rows_of_each_image_are_erased(ratio: float, count: int) -> None:
    features = feature_map()
    assert erased_rows(TopErasing(ratio=ratio)(features)) == most_active_by_hand(features, count)


def test_images_lose_different_rows() -> None:
    rows = erased_rows(TopErasing()(feature_map()))
    assert len({tuple(one) for one in rows}) > 1


def test_top_erasing_draws_nothing() -> None:
    before = torch.get_rng_state()
    TopErasing()(feature_map())
    assert torch.equal(torch.get_rng_state(), before)


def test_a_band_is_one_piece_and_the_same_for_all_images() -> None:
    torch.manual_seed(0)
    starts = set()
    for _ in range(60):
        first, *others = erased_rows(BandErasing(ratio=0.33)(feature_map()))
        assert others == [first] * 3
        assert first == list(range(first[0], first[0] + 4))
        starts.add(first[0])
    assert starts == set(range(9))


def test_a_band_comes_from_the_global_generator() -> None:
    torch.manual_seed(3)
    first = [erased_rows(BandErasing()(feature_map())) for _ in range(5)]
    torch.manual_seed(3)
    assert [erased_rows(BandErasing()(feature_map())) for _ in range(5)] == first


@pytest.mark.parametrize("name", ["top", "band"])
def test_what_is_left_is_unchanged_and_learns(name: EraseName) -> None:
    features = feature_map().requires_grad_()
    erased = build_erasing(name, ratio=0.33)(features)
    is_kept = erased != 0
    assert torch.equal(erased[is_kept], features[is_kept])
    erased.sum().backward()
    assert features.grad is not None
    assert torch.equal(features.grad, is_kept.float())


@pytest.mark.parametrize("name", ["top", "band"])
def test_evaluation_erases_nothing(name: EraseName) -> None:
    assert torch.equal(build_erasing(name, ratio=0.33).eval()(feature_map()), feature_map())


@pytest.mark.parametrize("name", ["top", "band"])
@pytest.mark.parametrize(("height", "left"), [(1, 1), (2, 1), (24, 16)])
def test_a_row_is_left_of_every_map(name: EraseName, height: int, left: int) -> None:
    rows = erased_rows(build_erasing(name, ratio=0.33)(feature_map(height=height)))
    assert [height - len(one) for one in rows] == [left] * 4


def test_half_precision_stays_half_precision() -> None:
    assert TopErasing()(feature_map().bfloat16()).dtype == torch.bfloat16


@pytest.mark.parametrize("ratio", [0.0, 1.0, -0.1, float("nan")])
def test_a_share_out_of_range_is_an_error(ratio: float) -> None:
    with pytest.raises(ConfigError, match="erase_ratio: got"):
        TopErasing(ratio=ratio)


def test_a_misspelt_name_is_an_error() -> None:
    with pytest.raises(ConfigError, match=r"erase: got 'bant'.*did you mean band\?"):
        build_erasing(cast("EraseName", "bant"), ratio=0.33)
