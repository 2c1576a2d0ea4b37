import pytest
import torch

from reid_core.data.transforms import BatchTransform, ImageTransform, split_stages
from reid_core.data.transforms.pad_crop import PadCrop
from reid_core.data.transforms.random_erasing import RandomErasing
from reid_core.data.transforms.random_flip import RandomFlip
from reid_core.errors import PluginError


def test_transforms_are_sorted_by_stage_and_keep_their_order():
    flip, crop, erasing, other = RandomFlip(), PadCrop(), RandomErasing(), RandomErasing()
    images, batches = split_stages([erasing, crop, other, flip])
    assert images == [crop, flip]
    assert batches == [erasing, other]


def test_no_transforms_are_fine():
    assert split_stages([]) == ([], [])


def test_something_else_is_named_with_its_module():
    with pytest.raises(PluginError, match=r"transform ReLU of torch\.nn\..* derive it from one"):
        split_stages([torch.nn.ReLU()])


@pytest.mark.parametrize(("base", "stage"), [(ImageTransform, "image"), (BatchTransform, "batch")])
def test_a_base_class_names_its_stage_and_does_nothing_by_itself(base, stage):
    assert base.stage == stage
    with pytest.raises(NotImplementedError):
        base()(torch.zeros(3, 2, 2), None)
