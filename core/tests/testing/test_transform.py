import pytest

from reid_core.testing import TransformConformance

GOOD = """
import numpy as np
import torch
from reid_core.data.transforms import BatchTransform, ImageTransform

AMOUNT = 3

class Example(ImageTransform):
    def __init__(self, *, probability: float = 0.5):
        self.probability = probability

    def __call__(self, image, rng):
        if rng.random() < self.probability:
            image = 255 - image
        return image
"""
END = "return image"
BUILT = "self.probability = probability"
CHANGE = "image = 255 - image"

FAULTS = {
    "it derives from neither class": (
        "test_shape_and_dtype_are_kept", "Example(ImageTransform)", "Example",
        "neither an ImageTransform nor a BatchTransform",
    ),
    "it returns floats": (
        "test_shape_and_dtype_are_kept", END, "return image / 255",
        r"makes \(3, 64, 32\) float32 of \(3, 64, 32\) uint8",
    ),
    "it changes the size": (
        "test_shape_and_dtype_are_kept", CHANGE, "image = image[:, 1:]",
        r"makes \(3, 63, 32\) uint8",
    ),
    "it takes one size only": (
        "test_shape_and_dtype_are_kept", END, "return image.view(3, 64, 32)",
        r"raised RuntimeError on \(3, 61, 37\) uint8",
    ),
    "it changes the image that it was given": (
        "test_image_is_left_alone", CHANGE, "image[0] = 0", "work on a copy",
    ),
    "it remembers": (
        "test_same_generator_gives_the_same", CHANGE,
        "self.probability += 0.1; image = image + int(10 * self.probability)",
        "keep nothing from call to call",
    ),
    "it relies on a memory layout": (
        "test_memory_layout_does_not_matter", END,
        "return image if image.is_contiguous() else image.flip(-1)",
        "channels last in memory gives another result",
    ),
    "it uses the global generator": (
        "test_random_state_of_the_run_is_left_alone", END, "torch.rand(()); return image",
        "global generator of torch",
    ),
    "it holds a lambda": (
        "test_can_be_sent_to_a_worker", BUILT, f"{BUILT}; self.change = lambda x: x",
        "cannot be sent to a worker process",
    ),
    "it keeps its setting in a global variable": (
        "test_can_be_sent_to_a_worker", f"{BUILT}", f"{BUILT}; global AMOUNT; AMOUNT = 7",
        "makes other images than here",
    ),
}  # fmt: skip

BATCH = """
import torch
from reid_core.data.transforms import BatchTransform

class Example(BatchTransform):
    def __call__(self, images, rng):
        images[int(rng.integers(len(images)))] = 0
        return images
"""


def test_a_good_image_transform_passes_every_check(installed_component, run_all_checks) -> None:
    assert run_all_checks(installed_component(TransformConformance, GOOD)) == 9


def test_a_good_batch_transform_passes_every_check(installed_component, run_all_checks) -> None:
    run_all_checks(installed_component(TransformConformance, BATCH))


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(installed_component, run_check, fault: str) -> None:
    check, old, new, message = FAULTS[fault]
    source = GOOD.replace(CHANGE, "image = image + AMOUNT") if "AMOUNT" in new else GOOD
    component = installed_component(TransformConformance, source, old, new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, check)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ("return images.half()", "float16 of"),
        ("return images / 0", "numbers that are not finite"),
        ("return images[:1]", r"makes \(1, 3, 64, 32\) float32 of \(3, 3, 64, 32\)"),
    ],
)
def test_each_fault_of_a_batch_transform_is_found(
    installed_component, run_check, new: str, message: str
) -> None:
    component = installed_component(TransformConformance, BATCH, "return images", new)
    with pytest.raises(AssertionError, match=message):
        run_check(component, "test_shape_and_dtype_are_kept")


def test_every_check_has_a_fault_that_it_finds(own_checks) -> None:
    found = {check for check, *_ in FAULTS.values()}
    assert own_checks(TransformConformance) == found
