import pytest
import torch

from reid_plugin_losses.precision import at_least_float32, full_precision


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (torch.float16, torch.float32),
        (torch.bfloat16, torch.float32),
        (torch.float32, torch.float32),
        (torch.float64, torch.float64),
    ],
)
def test_half_types_are_widened_and_wider_ones_stay(
    given: torch.dtype, expected: torch.dtype
) -> None:
    assert at_least_float32(torch.ones(2, dtype=given)).dtype == expected


def test_a_product_inside_autocast_stays_float32() -> None:
    values = torch.rand(4, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (values @ values).dtype == torch.bfloat16
        with full_precision(values):
            assert (values @ values).dtype == torch.float32
