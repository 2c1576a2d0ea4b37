import pytest
import torch
import torch.nn.functional as F

from reid_core.errors import ConfigError
from reid_plugin_heads.stripes import stripes


@pytest.mark.parametrize(("height", "count"), [(8, 2), (8, 3), (24, 6), (7, 6), (5, 5), (9, 1)])
def test_means_of_the_stripes_are_those_of_adaptive_pooling(height: int, count: int) -> None:
    features = torch.randn(2, 3, height, 4, generator=torch.Generator().manual_seed(0))
    means = torch.stack([part.mean(dim=(2, 3)) for part in stripes(features, count)], dim=2)
    expected = F.adaptive_avg_pool2d(features, (count, 1)).squeeze(3)
    torch.testing.assert_close(means, expected)


def test_neighbours_share_a_row_where_the_height_does_not_divide() -> None:
    rows = torch.arange(8.0).reshape(1, 1, 8, 1)
    assert [part.flatten().tolist() for part in stripes(rows, 3)] == [
        [0, 1, 2],
        [2, 3, 4, 5],
        [5, 6, 7],
    ]


def test_more_stripes_than_rows_are_an_error() -> None:
    with pytest.raises(ConfigError, match="4 rows, too few for 6 stripes"):
        stripes(torch.rand(1, 1, 4, 2), 6)
