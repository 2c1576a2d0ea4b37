import pytest
import torch

from reid_core.contracts import HeadOutput
from reid_core.errors import ConfigError
from reid_plugin_losses.reading import require_sizes, single_feature_of


def output(**features: int) -> HeadOutput:
    named = {name: torch.zeros(2, width) for name, width in features.items()}
    return HeadOutput(embedding=torch.zeros(2, 4), features=named)


def test_one_branch_of_the_right_length_is_taken_whatever_its_name() -> None:
    assert list(single_feature_of(output(part_0=4), "center", 4, "centres")) == ["part_0"]


def test_several_branches_are_an_error_that_says_how_to_choose() -> None:
    with pytest.raises(ConfigError, match=r"center: got features of 2 branches \(global, local\)"):
        single_feature_of(output(**{"global": 4, "local": 4}), "center", 4, "centres")
    with pytest.raises(ConfigError, match=r"choose with branches: \[global\]"):
        single_feature_of(output(**{"global": 4, "local": 4}), "center", 4, "centres")


def test_another_length_is_an_error_that_names_both() -> None:
    with pytest.raises(ConfigError, match=r"branch local has features of length 3, expected 4"):
        single_feature_of(output(local=3), "center", 4, "centres")


def test_sizes_that_are_not_known_are_named() -> None:
    assert require_sizes("center", 3, 5) == (3, 5)
    with pytest.raises(ConfigError, match=r"center: the length .* not known.*set embedding_size"):
        require_sizes("center", None, 5)
    with pytest.raises(ConfigError, match="center: num_classes is not known"):
        require_sizes("center", 3, None)


def test_a_given_length_goes_before_that_of_the_embedding() -> None:
    assert require_sizes("center", 3, 5, embedding_size=7) == (7, 5)
    assert require_sizes("center", None, embedding_size=7) == (7, 1)
    with pytest.raises(ConfigError, match="center: embedding_size: got 0, expected at least 1"):
        require_sizes("center", 3, embedding_size=0)
