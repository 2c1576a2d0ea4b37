import pytest
import torch

from reid_plugin_heads.necks import Neck


def pooled() -> torch.Tensor:
    return torch.randn(6, 4, generator=torch.Generator().manual_seed(0))


def test_without_layers_both_sides_are_the_pooled_feature() -> None:
    neck = Neck(feature_dim=4, reduced_dim=None, has_bottleneck=False)
    before, after = neck(pooled())
    assert torch.equal(before, pooled())
    assert before is after
    assert not neck.state_dict()
    assert neck.embedding_dim == 4


def test_a_reduction_alone_gives_its_output_on_both_sides() -> None:
    neck = Neck(feature_dim=4, reduced_dim=3, has_bottleneck=False)
    before, after = neck(pooled())
    assert before is after
    assert neck.reduction is not None
    weight = neck.reduction.weight.detach()
    for row in range(6):
        for column in range(3):
            by_hand = sum(
                float(pooled()[row, axis]) * float(weight[column, axis]) for axis in range(4)
            )
            assert before[row, column].item() == pytest.approx(by_hand, rel=1e-4, abs=1e-6)


def test_both_layers_normalise_what_was_reduced() -> None:
    neck = Neck(feature_dim=4, reduced_dim=3, has_bottleneck=True)
    before, after = neck(pooled())
    centred = before - before.mean(0)
    torch.testing.assert_close(after, centred / (centred.square().mean(0) + 1e-5).sqrt())
    assert neck.embedding_dim == 3


def test_the_bias_of_the_normalisation_is_frozen_at_zero() -> None:
    neck = Neck(feature_dim=4, reduced_dim=None, has_bottleneck=True)
    assert neck.bottleneck is not None
    assert not neck.bottleneck.bias.requires_grad
    assert not neck.bottleneck.bias.any()
    assert neck.bottleneck.weight.requires_grad


@pytest.mark.parametrize("has_bottleneck", [True, False])
def test_both_sides_are_float32_under_autocast(has_bottleneck: bool) -> None:
    neck = Neck(feature_dim=4, reduced_dim=3, has_bottleneck=has_bottleneck)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        before, after = neck(pooled().bfloat16())
    assert before.dtype == after.dtype == torch.float32
