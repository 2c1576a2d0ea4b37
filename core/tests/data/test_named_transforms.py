"""A transform's failures name the distribution it came from."""

import pickle
import sys

import numpy as np
import pytest
import torch

from reid_core.data.named_transforms import NamedBatchTransform, NamedImageTransform
from reid_core.data.transforms import BatchTransform, ImageTransform
from reid_core.data.transforms.random_flip import RandomFlip
from reid_core.errors import PluginError

ORIGIN = "transform grain of reid-plugin-grain 1.0 (reid_plugin_grain:Grain)"
IMAGE = torch.arange(3 * 4 * 2, dtype=torch.uint8).reshape(3, 4, 2)


class Makes(ImageTransform):
    """Returns, or raises, what it is given; called with a batch as well as with an image."""

    mixes_images = BatchTransform.mixes_images

    def __init__(self, made):
        self.made = made

    def __call__(self, image, rng):
        if isinstance(self.made, BaseException):
            raise self.made
        return self.made


def rng():
    return np.random.default_rng(0)


def test_images_are_those_of_the_transform():
    flip = RandomFlip()
    named = NamedImageTransform(flip, ORIGIN)
    ours, theirs = rng(), rng()
    for _ in range(10):
        assert torch.equal(named(IMAGE, ours), flip(IMAGE, theirs))


def test_batches_are_those_of_the_transform():
    class Double(BatchTransform):
        def __call__(self, images, rng):
            return images * 2 + rng.random()

    images = torch.rand(2, 3, 4, 2)
    named = NamedBatchTransform(Double(), ORIGIN)
    assert torch.equal(named(images, rng()), Double()(images, rng()))


@pytest.mark.parametrize("error", [ValueError("bad"), PluginError("too new")])
@pytest.mark.parametrize("named", [NamedImageTransform, NamedBatchTransform])
def test_what_it_raises_names_it(named, error):
    error = type(error)(str(error))
    with pytest.raises(type(error)) as caught:
        named(Makes(error), ORIGIN)(IMAGE, rng())
    assert caught.value is error
    assert error.__notes__ == [f"raised by {ORIGIN}"]


@pytest.mark.parametrize("named", [NamedImageTransform, NamedBatchTransform])
def test_it_cannot_end_the_process(named):
    with pytest.raises(PluginError) as caught:
        named(Makes(SystemExit(3)), ORIGIN)(IMAGE, rng())
    assert str(caught.value) == f"{ORIGIN} called sys.exit(3)"


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (IMAGE.float(), "a (3, 4, 2) torch.float32"),
        (IMAGE[:1], "a (1, 4, 2) torch.uint8"),
        (IMAGE.numpy(), "a ndarray"),
        (None, "a NoneType"),
    ],
)
def test_what_is_no_image_of_the_same_size_is_refused_by_name(made, words):
    with pytest.raises(PluginError) as caught:
        NamedImageTransform(Makes(made), ORIGIN)(IMAGE, rng())
    assert str(caught.value) == (
        f"{ORIGIN} made {words}; expected (3, H, W) torch.uint8 of the size it got, (3, 4, 2)"
    )


class Empty(Makes):
    """Looks empty, as a transform may that holds a list of others."""

    def __len__(self):
        return 0


def test_it_can_be_sent_twice():
    named = NamedImageTransform(Empty(IMAGE), ORIGIN)
    once = pickle.loads(pickle.dumps(named))
    unused = pickle.loads(pickle.dumps(once))
    for copy in (named, once, unused, pickle.loads(pickle.dumps(unused))):
        assert copy.origin == ORIGIN
        assert torch.equal(copy(IMAGE, rng()), IMAGE)


def test_sending_fails_where_the_transform_cannot_be_sent():
    with pytest.raises(AttributeError, match="local object"):
        pickle.dumps(NamedImageTransform(Makes(lambda image: image), ORIGIN))


def test_a_class_that_is_missing_where_it_arrives_is_named(tmp_path, monkeypatch):
    (tmp_path / "grain_module.py").write_text(
        "from reid_core.data.transforms import ImageTransform\n"
        "class Grain(ImageTransform):\n"
        "    pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from grain_module import Grain

    payload = pickle.dumps(NamedImageTransform(Grain(), ORIGIN))
    del sys.modules["grain_module"]
    monkeypatch.undo()
    arrived = pickle.loads(payload)
    for _ in range(2):
        with pytest.raises(PluginError) as caught:
            arrived(IMAGE, rng())
        assert str(caught.value).startswith(
            f"{ORIGIN} does not exist in the worker process: ModuleNotFoundError: No module named "
            "'grain_module'; "
        )
        assert "put the class into a module, or set data.workers=0" in str(caught.value)
