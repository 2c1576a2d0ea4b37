"""AutoAugment, RandAugment and AugMix, and the operations that they draw from."""

import math

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageOps
from torchvision.transforms import AutoAugmentPolicy
from torchvision.transforms.v2 import AutoAugment as UsualAutoAugment
from torchvision.transforms.v2 import RandAugment as UsualRandAugment

from reid_core.data.transforms import aug_mix, rand_augment
from reid_core.data.transforms.aug_mix import AugMix
from reid_core.data.transforms.auto_augment import AutoAugment
from reid_core.data.transforms.policies import policy_of
from reid_core.data.transforms.policy_ops import IMAGE_OPS, SIGNED_OPS, apply_op, magnitude_of
from reid_core.data.transforms.rand_augment import RandAugment
from reid_core.data.transforms.warp import Warp
from reid_core.errors import ConfigError

WARP = Warp("nearest", (0, 0, 0))


def to_pillow(image):
    return Image.fromarray(image.permute(1, 2, 0).contiguous().numpy())


def pixels(picture):
    return np.asarray(picture).transpose(2, 0, 1).astype(int)


# Operations.


@pytest.mark.parametrize(
    ("name", "magnitude", "pillow"),
    [
        ("brightness", -0.6, lambda p: ImageEnhance.Brightness(p).enhance(0.4)),
        ("brightness", 0.5, lambda p: ImageEnhance.Brightness(p).enhance(1.5)),
        ("color", 0.8, lambda p: ImageEnhance.Color(p).enhance(1.8)),
        ("contrast", -0.5, lambda p: ImageEnhance.Contrast(p).enhance(0.5)),
        ("sharpness", 0.9, lambda p: ImageEnhance.Sharpness(p).enhance(1.9)),
        ("sharpness", -0.9, lambda p: ImageEnhance.Sharpness(p).enhance(0.1)),
        ("posterize", 5, lambda p: ImageOps.posterize(p, 5)),
        ("posterize", 8, lambda p: p),
        ("solarize", 100, lambda p: ImageOps.solarize(p, 100)),
        ("auto_contrast", 0, ImageOps.autocontrast),
        ("equalize", 0, ImageOps.equalize),
        ("invert", 0, ImageOps.invert),
        ("identity", 0, lambda p: p),
    ],
)
def test_operations_on_colours_are_those_of_pillow(name, magnitude, pillow, photo):
    image = photo(40, 30)
    made = apply_op(image, name, magnitude, WARP).numpy().astype(int)
    # Factors meet greys that were rounded differently.
    limit = 2 if name in ("color", "contrast", "sharpness") else 1
    assert np.abs(made - pixels(pillow(to_pillow(image)))).max() <= limit


@pytest.mark.parametrize(
    ("name", "magnitude", "matrix"),
    [
        # Where a pixel of the result comes from: x = a·x + b·y + c, y = d·x + e·y + f.
        ("shear_x", 0.3, (1, 0.3, 0, 0, 1, 0)),
        ("shear_x", -0.17, (1, -0.17, 0, 0, 1, 0)),
        ("shear_y", 0.3, (1, 0, 0, 0.3, 1, 0)),
        ("translate_x", 4.9, (1, 0, -4, 0, 1, 0)),
        ("translate_x", -3.0, (1, 0, 3, 0, 1, 0)),
        ("translate_y", 5.0, (1, 0, 0, 0, 1, -5)),
    ],
)
def test_operations_that_move_pixels_are_those_of_pillow(name, magnitude, matrix, photo):
    image = photo(40, 30)
    made = apply_op(image, name, magnitude, WARP).numpy().astype(int)
    expected = pixels(
        to_pillow(image).transform((30, 40), Image.Transform.AFFINE, matrix, fillcolor=(0, 0, 0))
    )
    different = (made != expected).any(axis=0)
    # A source halfway between two pixels may be either.
    assert different.mean() < 0.03


@pytest.mark.parametrize("degrees", [30, -12])
def test_a_rotation_is_that_of_pillow(degrees, photo):
    image = photo(40, 30)
    made = apply_op(image, "rotate", degrees, WARP).numpy().astype(int)
    expected = pixels(to_pillow(image).rotate(degrees))
    assert (made != expected).any(axis=0).mean() < 0.03


def test_what_moves_in_from_outside_has_the_colour_of_the_fill(photo):
    moved = apply_op(photo(), "translate_x", 5, Warp("bilinear", (10, 20, 30)))
    assert moved[:, :, :5].unique(dim=1).reshape(3, -1).unique(dim=1).tolist() == [[10], [20], [30]]


def test_magnitudes_are_those_of_the_paper():
    ranges = {
        "shear_x": 0.3,
        "shear_y": 0.3,
        "translate_x": 100 * 150 / 331,
        "translate_y": 200 * 150 / 331,
        "rotate": 30,
        "brightness": 0.9,
        "color": 0.9,
        "contrast": 0.9,
        "sharpness": 0.9,
    }
    for name, largest in ranges.items():
        assert magnitude_of(name, 1.0, 200, 100) == pytest.approx(largest)
        assert magnitude_of(name, 0.5, 200, 100) == pytest.approx(largest / 2)
        assert magnitude_of(name, 0.0, 200, 100) == 0
    assert [magnitude_of("posterize", level / 9, 9, 9) for level in range(10)] == [
        8, 8, 7, 7, 6, 6, 5, 5, 4, 4
    ]  # fmt: skip
    assert [magnitude_of("solarize", level, 9, 9) for level in (0, 0.2, 1)] == [255, 204, 0]
    assert set(ranges) == SIGNED_OPS


# AutoAugment.


def usual_name(op):
    return "".join(word.capitalize() for word in op.split("_"))


@pytest.mark.parametrize("name", ["imagenet", "cifar10", "svhn"])
def test_the_policies_are_the_published_ones(name):
    published = UsualAutoAugment(AutoAugmentPolicy[name.upper()])._policies
    ours = [
        tuple((usual_name(step.op), step.probability, step.level) for step in pair)
        for pair in policy_of(name)
    ]
    assert ours == [tuple((op, p, level or 0) for op, p, level in pair) for pair in published]


def slow_auto_augment(image, seed, policy):
    """One pair of the policy, each of its operations decided by two draws."""
    rng = np.random.default_rng(seed)
    rng.random()
    pair = policy_of(policy)[rng.integers(25)]
    usual = UsualAutoAugment(interpolation="nearest", fill=[0.0, 0.0, 0.0])
    for op, probability, level in pair:
        applied, reversed_ = rng.random(), rng.random()
        if applied >= probability:
            continue
        image = usual_op(usual, image, op, level, bins=10, is_reversed=reversed_ < 0.5)
    return image


def usual_op(usual, image, op, level, *, bins, is_reversed):
    """Apply torchvision's operation, with its magnitude in double precision."""
    magnitudes, is_signed = usual._AUGMENTATION_SPACE[usual_name(op)]
    values = magnitudes(bins, *image.shape[-2:])
    magnitude = 0.0
    if values is not None:
        magnitude = magnitude_of(op, level / (bins - 1), *image.shape[-2:])
        magnitude /= 255 if op == "solarize" else 1  # there a share of white
        assert magnitude == pytest.approx(float(values[level]), rel=1e-5)
    sign = -1 if is_signed and is_reversed else 1
    return usual._apply_image_or_video_transform(
        image, usual_name(op), sign * magnitude, interpolation="nearest", fill=usual._fill
    )


@pytest.mark.parametrize("policy", ["imagenet", "cifar10", "svhn"])
def test_auto_augment_does_what_torchvision_does_with_the_same_draws(policy, photo):
    image = photo(40, 30)
    augment = AutoAugment(probability=1.0, policy=policy)
    changed = 0
    for seed in range(40):
        made = augment(image, np.random.default_rng(seed))
        assert torch.equal(made, slow_auto_augment(image, seed, policy))
        changed += not torch.equal(made, image)
    assert changed > 25


# RandAugment.


def test_rand_augment_draws_from_torchvisions_operations():
    assert {usual_name(op) for op in rand_augment.OPS} == set(UsualRandAugment._AUGMENTATION_SPACE)


@pytest.mark.parametrize("magnitude", [0, 9, 30])
def test_rand_augment_does_what_torchvision_does_with_the_same_draws(magnitude, photo):
    image = photo(40, 30)
    usual = UsualRandAugment(interpolation="nearest", fill=[0.0, 0.0, 0.0])
    augment = RandAugment(num_ops=3, magnitude=magnitude)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        rng.random()
        expected = image
        for position in rng.integers(14, size=3):
            op, is_reversed = rand_augment.OPS[position], rng.random() < 0.5
            expected = usual_op(usual, expected, op, magnitude, bins=31, is_reversed=is_reversed)
        assert torch.equal(augment(image, np.random.default_rng(seed)), expected)


# AugMix.


def slow_aug_mix(image, seed, *, severity, width, depth, alpha):
    """The paper's mixture, with chains and weights drawn as ours are."""
    rng = np.random.default_rng(seed)
    rng.random()
    weights = rng.dirichlet([alpha] * width)
    share = rng.beta(alpha, alpha)
    mixture = np.zeros(image.shape)
    for weight in weights:
        chain = image
        length = depth or rng.integers(1, 4)
        for position in rng.integers(9, size=length):
            op = aug_mix.OPS[position]
            level = rng.uniform(0.1, severity)
            magnitude = aug_mix.magnitude_of(op, level, *image.shape[-2:])
            sign = -1 if rng.random() < 0.5 and op in SIGNED_OPS else 1
            chain = apply_op(chain, op, sign * magnitude, Warp("bilinear", (0, 0, 0)))
        mixture += weight * chain.double().numpy()
    return (1 - share) * image.double().numpy() + share * mixture


@pytest.mark.parametrize(
    "parameters",
    [
        {"severity": 1.0, "width": 3, "depth": 1, "alpha": 0.1},
        {"severity": 3.0, "width": 4, "depth": None, "alpha": 1.0},
        {"severity": 10.0, "width": 1, "depth": 3, "alpha": 5.0},
    ],
)
def test_aug_mix_is_the_mixture_of_the_paper(parameters, photo):
    image = photo()
    mix = AugMix(probability=1.0, **parameters)
    for seed in range(10):
        made = mix(image, np.random.default_rng(seed)).double().numpy()
        expected = slow_aug_mix(image, seed, **parameters)
        assert np.abs(made - expected).max() < 0.51


def test_aug_mix_scales_its_operations_as_the_paper_does():
    def at(level):
        return {op: aug_mix.magnitude_of(op, level, 90, 60) for op in aug_mix.OPS[2:]}

    assert at(10) == {
        "posterize": 0,
        "rotate": 30,
        "solarize": 0,
        "shear_x": pytest.approx(0.3),
        "shear_y": pytest.approx(0.3),
        "translate_x": 20,
        "translate_y": 30,
    }
    assert at(3.4) == {
        "posterize": 3,
        "rotate": 10,
        "solarize": 256 - 87,
        "shear_x": pytest.approx(0.102),
        "shear_y": pytest.approx(0.102),
        "translate_x": 6,
        "translate_y": 10,
    }
    assert aug_mix.magnitude_of("solarize", 0.0, 90, 60) == 255


# All of them.


@pytest.mark.parametrize("kind", [AutoAugment, RandAugment, AugMix])
def test_the_probability_is_kept_and_the_result_is_finite(kind, photo):
    image = photo(16, 12)
    rngs = [np.random.default_rng(seed) for seed in range(200)]
    same = [kind(probability=0.3)(image, rng) is image for rng in rngs]
    assert 0.58 < np.mean(same) < 0.82
    assert kind(probability=0.0)(image, np.random.default_rng(0)) is image


@pytest.mark.parametrize(
    ("kind", "keywords", "message"),
    [
        (AutoAugment, {"probability": 1.1}, "auto_augment: probability is 1.1"),
        (RandAugment, {"num_ops": 0}, "rand_augment: num_ops is 0; expected at least 1"),
        (RandAugment, {"magnitude": 31}, r"magnitude is 31; expected 0..30"),
        (AugMix, {"severity": 11}, r"aug_mix: severity is 11; expected 0.1..10"),
        (AugMix, {"width": 0}, "width is 0; expected at least 1"),
        (AugMix, {"depth": -1}, "depth is -1; expected at least 1"),
        (AugMix, {"alpha": 0}, "alpha is 0; expected 0.001 or more"),
        (AugMix, {"alpha": math.nan}, "alpha is nan"),
    ],
)
def test_values_out_of_range_are_refused(kind, keywords, message):
    with pytest.raises(ConfigError, match=message):
        kind(**keywords)


def test_every_operation_leaves_its_input_alone(photo):
    image = photo()
    before = image.clone()
    for op in IMAGE_OPS:
        level = magnitude_of(op, 0.7, 32, 20)
        assert apply_op(image, op, level, WARP).shape == image.shape
        assert torch.equal(image, before), op
