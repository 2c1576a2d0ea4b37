from __future__ import annotations

import torch

from reid_core.checkpoint.snapshot import snapshot


def test_nothing_that_happens_afterwards_is_seen():
    weight, inner, numbers = torch.ones(3), torch.zeros(2), [1, 2]
    state = {"model": {"w": weight}, "list": [inner, numbers], "pair": (inner, "x"), "none": None}
    copied = snapshot(state)
    weight.add_(5)
    inner.add_(5)
    numbers.append(3)
    assert torch.equal(copied["model"]["w"], torch.ones(3))
    assert torch.equal(copied["list"][0], torch.zeros(2))
    assert copied["list"][1] == [1, 2]
    assert torch.equal(copied["pair"][0], torch.zeros(2))
    assert (copied["pair"][1], copied["none"]) == ("x", None)


def test_a_tied_weight_is_one_tensor_still_and_its_layout_is_kept():
    layer = torch.nn.Linear(2, 2)
    image = torch.randn(1, 3, 4, 4).to(memory_format=torch.channels_last)
    copied = snapshot({"a": layer.state_dict(), "b": layer.state_dict(), "image": image})
    assert copied["a"]["weight"] is copied["b"]["weight"]
    assert copied["a"]["weight"] is not copied["a"]["bias"]
    assert copied["image"].is_contiguous(memory_format=torch.channels_last)


def test_two_views_of_one_memory_and_empty_tensors_stay_apart():
    whole = torch.arange(4)
    copied = snapshot({"a": whole[:2], "b": whole[2:], "none": torch.empty(0), "no": torch.ones(0)})
    assert copied["a"].tolist() == [0, 1]
    assert copied["b"].tolist() == [2, 3]
    assert copied["none"] is not copied["no"]
    assert copied["a"].untyped_storage().nbytes() == 16, "the memory around it is not copied"
