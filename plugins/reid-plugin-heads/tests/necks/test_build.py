from typing import cast

import pytest
import torch

from reid_core.errors import ConfigError
from reid_plugin_heads.necks import NeckName, build_neck


@pytest.mark.parametrize(
    ("name", "embedding_dim", "keys"),
    [
        ("none", None, set()),
        ("bnneck", None, {"bottleneck"}),
        ("reduction", 3, {"reduction"}),
        ("reduction_bnneck", 3, {"reduction", "bottleneck"}),
    ],
)
def test_every_name_has_the_layers_it_says(
    name: NeckName, embedding_dim: int | None, keys: set[str]
) -> None:
    neck = build_neck(name, feature_dim=4, embedding_dim=embedding_dim)
    before, after = neck(torch.rand(6, 4))
    assert before.shape == after.shape == (6, embedding_dim or 4)
    assert neck.embedding_dim == (embedding_dim or 4)
    assert {key.split(".")[0] for key in neck.state_dict()} == keys


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match=r"neck: got 'bneck'.*did you mean bnneck\?"):
        build_neck(cast("NeckName", "bneck"), feature_dim=4)


@pytest.mark.parametrize("name", ["reduction", "reduction_bnneck"])
def test_a_reduction_without_a_width_is_an_error(name: NeckName) -> None:
    with pytest.raises(ConfigError, match=f"embedding_dim: neck {name} needs the width"):
        build_neck(name, feature_dim=4)


@pytest.mark.parametrize(("name", "other"), [("none", "reduction"), ("bnneck", "reduction_bnneck")])
def test_a_width_without_a_reduction_is_an_error(name: NeckName, other: str) -> None:
    with pytest.raises(ConfigError, match=f"embedding_dim: got 3, but neck.*set neck: {other}$"):
        build_neck(name, feature_dim=4, embedding_dim=3)


def test_a_width_below_one_is_an_error() -> None:
    with pytest.raises(ConfigError, match="embedding_dim: got 0"):
        build_neck("reduction", feature_dim=4, embedding_dim=0)
