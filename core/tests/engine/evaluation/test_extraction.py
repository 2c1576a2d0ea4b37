"""From images to embeddings: views, sizes, broken images and values that are not finite."""

import json
import logging

import pytest
import torch
from torch import nn

from reid_core.config import Config, load_config
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.image_dataset import ImageDataset
from reid_core.data.keys import SampleKey
from reid_core.data.loader import Normalize
from reid_core.data.query_gallery import TestSet
from reid_core.engine import DefaultTrainer
from reid_core.engine.evaluation.evaluator import Evaluator
from reid_core.engine.evaluation.measure import evaluate_model
from reid_core.errors import ConfigError, DataError
from reid_core.plugins.registries import BACKBONES
from reid_core.testing import write_tiny_market

CPU = torch.device("cpu")


class Corner(nn.Module):
    """The colour of the first pixels, which a mirrored image has elsewhere."""

    def embed(self, images):
        return images[:, :, :2, 0].flatten(1)


class Spoiled(Corner):
    """NaN for some rows, in the order of the set."""

    def __init__(self, rows):
        super().__init__()
        self.rows, self.seen = rows, 0

    def embed(self, images):
        found = super().embed(images)
        for position in range(len(found)):
            if self.seen + position in self.rows:
                found[position, 1] = float("nan")
        self.seen += len(found)
        return found


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    return write_tiny_market(tmp_path_factory.mktemp("market"), test_identities=3)


def config_of(**features):
    return Config.model_validate(
        {
            "data": {"image_size": [24, 16], "workers": 0},
            "evaluate": {"batch_size": 4, "features": features},
        }
    )


def evaluator_of(market, **features):
    return Evaluator(TestSet.of(market1501(root=str(market))), config_of(**features), CPU)


def embedded(market, model=None, **features):
    evaluator = evaluator_of(market, **features)
    found = evaluator.evaluate(model or Corner(), lambda: None)
    return found, torch.cat([found.query.features, found.gallery.features])


def read_all(market, size):
    """Every test image, read and normalised one at a time."""
    rows = TestSet.of(market1501(root=str(market))).rows
    dataset = ImageDataset(rows, image_size=size)
    normalize = Normalize(config_of().data.mean, config_of().data.std)
    images = [dataset[SampleKey(row, 0)].image[None] for row in range(len(rows))]
    return torch.cat([normalize(image) for image in images])


def test_flip_is_the_mean_of_the_image_and_its_mirror_normalised_once_each(market):
    images = read_all(market, (24, 16))
    expected = (Corner().embed(images) + Corner().embed(images.flip(-1))) / 2
    retrieval, found = embedded(market, flip=True)
    assert torch.equal(found, expected)
    assert retrieval.features == "mean of 2 views: image, mirrored"
    plain, found = embedded(market)
    assert torch.equal(found, Corner().embed(images))
    assert plain.features == ""


def test_a_larger_scale_reads_the_pixels_that_the_files_have(market):
    _, found = embedded(market, scales=[1.5])
    assert torch.equal(found, Corner().embed(read_all(market, (36, 24))))


def test_five_crops_are_cut_from_an_image_read_larger(market):
    images = read_all(market, (27, 18))
    # Left and right by 2 pixels, up and down by 3, and the middle.
    places = [(0, 0), (0, 2), (3, 0), (3, 2), (1, 1)]
    crops = [images[:, :, top : top + 24, left : left + 16] for top, left in places]
    expected = torch.stack([Corner().embed(crop) for crop in crops]).mean(dim=0)
    _, found = embedded(market, crops=5)
    torch.testing.assert_close(found, expected)


def test_normalised_embeddings_have_length_one_and_change_only_the_euclidean_figures(market):
    plain, _ = embedded(market)
    normalised, found = embedded(market, normalize=True)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(len(found)))
    assert normalised.result.scalars() == plain.result.scalars()
    assert normalised.features == "L2-normalised"


@pytest.fixture
def configured(tiny_recipe, tmp_path):
    """Makes the recipe of the tiny world with other settings."""
    torch.manual_seed(0)
    return lambda settings: load_config(tiny_recipe, {"output": str(tmp_path / "run"), **settings})


# B057: the count of what is not finite and the first file; no figure.
@pytest.mark.parametrize(("rows", "first"), [([7], 7), (range(24), 0)])
def test_embeddings_that_are_not_finite_name_the_first_file(market, rows, first):
    evaluator = evaluator_of(market)
    total = len(evaluator.test_set.rows)
    rows = [row for row in rows if row < total]
    path = str(evaluator.test_set.rows.paths[first])
    with pytest.raises(DataError) as caught:
        evaluator.evaluate(Spoiled(rows), lambda: None)
    assert f"the embeddings of {len(rows)} of {total} images are not finite" in str(caught.value)
    assert f"{path} (row {first}); no score is given" in str(caught.value)


# B057: the run ends, and no line of figures is written anywhere.
def test_a_model_that_gives_nan_leaves_no_figure(configured, caplog):
    class Diverged(BACKBONES.get("tiny_backbone")):
        def forward(self, images):
            return super().forward(images) * float("nan")

    BACKBONES.register(Diverged, name="diverged")
    try:
        config = configured({"model.backbone": {"name": "diverged"}, "evaluate.at_start": True})
        trainer = DefaultTrainer(config)
        trainer.resume_or_load()
        with caplog.at_level(logging.INFO), pytest.raises(DataError, match="not finite, the first"):
            trainer.train()
    finally:
        BACKBONES._local.pop("diverged")
    assert "mAP" not in caplog.text
    assert not trainer.results.evaluations


def test_a_size_the_model_cannot_take_is_said_before_anything_is_trained(configured):
    class Fixed(BACKBONES.get("tiny_backbone")):
        def forward(self, images):
            if tuple(images.shape[-2:]) != (32, 16):
                raise ValueError("positions for 32×16 pixels only")
            return super().forward(images)

    BACKBONES.register(Fixed, name="fixed_size")
    settings = {"model.backbone": {"name": "fixed_size"}}
    try:
        DefaultTrainer(configured({**settings, "evaluate.features": {"flip": True}}))
        config = configured({**settings, "evaluate.features": {"scales": [1.0, 1.5]}})
        with pytest.raises(ConfigError, match=r"backbone Fixed cannot embed images of 48×24"):
            DefaultTrainer(config)
    finally:
        BACKBONES._local.pop("fixed_size")


def test_what_was_done_stands_beside_the_figures_of_a_run_and_of_an_evaluation(configured):
    config = configured({"evaluate.features": {"flip": True, "normalize": True}, "epochs": 1})
    trainer = DefaultTrainer(config)
    trainer.resume_or_load()
    trainer.train()
    words = "mean of 2 views: image, mirrored; L2-normalised"
    (of_run,) = trainer.results.evaluations
    assert of_run.features == words
    assert words in of_run.line()
    (again,) = evaluate_model(config, trainer.model.eval())
    assert (again.features, again.metrics) == (words, of_run.metrics)
    stored = json.loads((trainer.folder.path / "results.json").read_text())
    assert stored["evaluations"][0]["features"] == words


def test_broken_images_are_left_out_and_sorted(market, tmp_path):
    copied = write_tiny_market(tmp_path / "market", test_identities=3)
    for place in (4, 1):
        sorted((copied / "bounding_box_test").iterdir())[place].write_bytes(b"no image")
    config = config_of()
    config = config.model_copy(
        update={"data": config.data.model_copy(update={"broken_images": "skip"})}
    )
    evaluator = Evaluator(TestSet.of(market1501(root=str(copied))), config, CPU)
    retrieval = evaluator.evaluate(Corner(), lambda: None)
    total, num_query = len(evaluator.test_set.rows), evaluator.test_set.num_query
    left_out = [num_query + 1, num_query + 4]
    assert [image.row for image in evaluator.broken] == left_out
    assert retrieval.rows.tolist() == [row for row in range(total) if row not in left_out]
    _, whole = embedded(market)
    found = torch.cat([retrieval.query.features, retrieval.gallery.features])
    assert torch.equal(found, whole[torch.from_numpy(retrieval.rows)])
