import torch

from reid_plugin_heads.precision import at_least_float32, full_precision


def test_the_type_is_float32_unless_something_is_float64() -> None:
    half, single, double = torch.zeros(1).half(), torch.zeros(1), torch.zeros(1).double()
    assert at_least_float32(half, half.bfloat16()) == torch.float32
    assert at_least_float32(half, single) == torch.float32
    assert at_least_float32(single, double) == torch.float64


def test_nothing_is_autocast_in_full_precision() -> None:
    values = torch.rand(2, 2)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert (values @ values).dtype == torch.bfloat16
        with full_precision(values):
            assert (values @ values).dtype == torch.float32
