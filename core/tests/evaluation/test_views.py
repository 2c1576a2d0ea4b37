"""Several views of an image: against plain loops, by hand, and the words beside the number."""

import itertools

import pytest
import torch
from torch import nn

from reid_core.contracts import Batch
from reid_core.errors import ConfigError, UsageError
from reid_core.evaluation import Views, ViewsModel, extract_embeddings, with_views
from reid_core.evaluation.views import check_sizes

CPU = torch.device("cpu")
SIZE = (16, 8)


class Model(nn.Module):
    """The pixels of a fixed place and mean colours: it tells views apart, and takes any size."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def embed(self, images):
        return torch.cat([self.norm(images.mean(dim=(2, 3))), images[:, :, 0, 0]], dim=1)


class Fixed(nn.Module):
    """A table of positions: one size only."""

    def __init__(self):
        super().__init__()
        self.backbone = nn.Linear(3 * 16 * 8, 4)

    def embed(self, images):
        return self.backbone(images.flatten(1))


def images(size, count=3):
    return torch.rand(count, 3, *size, generator=torch.Generator().manual_seed(0))


def embedded(views, data, model=None):
    with torch.no_grad():
        return with_views((model or Model()).eval(), views, SIZE).embed(data)


def resized(image, size):
    return nn.functional.interpolate(image[None], size=size, mode="bilinear", antialias=True)[0]


def slow(views, data, model):
    """One image and one view after another, cut by hand."""
    rows = []
    for image in data:
        found = []
        for scale in views.scales:
            height, width = round(16 * scale), round(8 * scale)
            if views.crops == 5:
                whole = resized(image, (round(16 * scale * 1.125), round(8 * scale * 1.125)))
                down, right = whole.shape[1] - height, whole.shape[2] - width
                places = [(0, 0), (0, right), (down, 0), (down, right), (down // 2, right // 2)]
                crops = [whole[:, t : t + height, le : le + width] for t, le in places]
            else:
                crops = [resized(image, (height, width))]
            for crop in crops:
                found.append(model.embed(crop[None])[0])
                if views.flip:
                    found.append(model.embed(torch.flip(crop, dims=[2])[None])[0])
        mean = torch.stack(found).mean(dim=0)
        rows.append(mean / mean.norm() if views.normalize else mean)
    return torch.stack(rows)


@pytest.mark.parametrize(
    ("flip", "scales", "crops", "normalize"),
    list(itertools.product([False, True], [(1.0,), (1.0, 1.5), (0.5,)], [1, 5], [False, True])),
)
@torch.no_grad()
def test_the_embedding_is_the_mean_over_the_views(flip, scales, crops, normalize):
    views = Views(flip=flip, scales=scales, crops=crops, normalize=normalize)
    model = Model().eval()
    data = images(views.loaded_size(SIZE))
    expected = slow(views, data, model)
    torch.testing.assert_close(embedded(views, data, model), expected, rtol=1e-5, atol=1e-6)


def test_one_view_is_exactly_the_plain_embedding_of_the_model_itself():
    model = Model().eval()
    assert with_views(model, Views(), SIZE) is model
    data = images(SIZE)
    assert torch.equal(embedded(Views(scales=[1.0]), data, model), embedded(Views(), data, model))


def test_a_symmetric_image_mirrored_changes_nothing():
    # FastReID normalised the mirrored images once more, so that even these two differed.
    half = images((16, 4))
    data = torch.cat([half, half.flip(-1)], dim=3)
    model = Model().eval()
    assert torch.equal(embedded(Views(flip=True), data, model), embedded(Views(), data, model))


def test_flip_by_hand_and_the_images_are_left_as_they_were():
    class First(nn.Module):
        def embed(self, images):
            return images[:, :1, 0, 0]

    data = torch.arange(128.0).reshape(1, 1, 16, 8).repeat(1, 3, 1, 1)
    before = data.clone()
    # The first pixel of the first row is 0, and 7 of the mirrored one.
    assert embedded(Views(flip=True), data, First()).tolist() == [[3.5]]
    assert torch.equal(data, before)


def test_five_crops_of_a_larger_image_and_of_two_scales_one_loading():
    assert Views(crops=5).loaded_size((256, 128)) == (288, 144)
    assert Views(crops=5, scales=[1.0, 1.5]).loaded_size((256, 128)) == (432, 216)
    assert Views(scales=[0.5]).loaded_size((256, 128)) == (128, 64)
    assert Views(scales=[0.5, 1.0]).sizes((256, 128)) == [(128, 64), (256, 128)]


@pytest.mark.parametrize(
    ("views", "words"),
    [
        (Views(), ""),
        (Views(normalize=True), "L2-normalised"),
        (Views(flip=True), "mean of 2 views: image, mirrored"),
        (Views(flip=True, normalize=True), "mean of 2 views: image, mirrored; L2-normalised"),
        (Views(scales=[1.5]), "image at scale 1.5"),
        (Views(scales=[1.5], flip=True), "mean of 2 views: image, mirrored, scale 1.5"),
        (Views(scales=[1, 1.25]), "mean of 2 views: scales 1, 1.25"),
        (Views(crops=5), "mean of 5 views: 5 crops"),
        (
            Views(crops=5, scales=[1, 1.25], flip=True),
            "mean of 20 views: 5 crops, scales 1, 1.25, each mirrored too",
        ),
    ],
)
def test_what_was_done_is_said_in_words(views, words):
    assert views.description == words


def test_conditions_reach_the_model_in_every_view_and_a_zero_embedding_stays_zero():
    class Conditioned(nn.Module):
        conditions = ("camids",)

        def embed(self, images, camids):
            return images[:, :2, 0, 0] * 0 + camids[:, None]

    model = with_views(Conditioned(), Views(flip=True, normalize=True), SIZE)
    camids = torch.tensor([0, 3])
    columns = {"training_camids": camids}
    batch = Batch(images(SIZE, 2), camids, camids * 0, torch.arange(2), columns)
    features = extract_embeddings(model, [batch], CPU)
    torch.testing.assert_close(features, torch.tensor([[0.0, 0.0], [0.5**0.5, 0.5**0.5]]))


def test_modes_of_the_model_are_kept():
    model = Model().train()
    zeros = torch.zeros(2, dtype=torch.int64)
    batch = Batch(images(SIZE, 2), zeros, zeros, torch.arange(2))
    extract_embeddings(ViewsModel(model, Views(flip=True), SIZE), [batch], CPU)
    assert model.training
    assert model.norm.training
    assert model.norm.num_batches_tracked == 0


def test_a_size_that_the_model_cannot_embed_names_the_model_and_the_scale():
    views = Views(scales=[1.0, 1.5])
    model = Fixed().train()
    words = (
        r"Fixed with backbone Linear cannot embed images of 24×12 pixels, data.image_size 16×8 at "
        r"scale 1.5 \(RuntimeError: .*leave the scales at \[1.0\]"
    )
    with pytest.raises(ConfigError, match=words):
        check_sizes(model, views, SIZE, CPU)
    assert model.training
    check_sizes(model, Views(flip=True, crops=5), SIZE, CPU)
    check_sizes(Model(), views, SIZE, CPU)


def test_images_of_another_size_are_refused_with_both():
    with pytest.raises(UsageError, match=r"are 16×8; expected 24×12.*image size 16×8"):
        embedded(Views(scales=[1.5]), images(SIZE))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scales": []}, r"scales is \[\]; expected at least one"),
        ({"scales": [0.0]}, r"scales is \[0.0\]"),
        ({"crops": 3}, "crops is 3; expected 1 or 5"),
    ],
)
def test_views_that_do_not_exist_are_refused(settings, words):
    with pytest.raises(UsageError, match=words):
        Views(**settings)
