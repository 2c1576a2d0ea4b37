"""Data with one camera or none: refused before training, or evaluated under a name of its own."""

import logging

import numpy as np
import pytest
from PIL import Image

from reid_core.config import load_config
from reid_core.data.manifest import Manifest, no_cameras
from reid_core.engine import DefaultTrainer
from reid_core.errors import DataError
from reid_core.plugins.registries import DATASETS


@pytest.fixture
def one_camera(tmp_path):
    """A set of two identities, registered; ``knows`` says whether it claims to know its cameras."""
    folder = tmp_path / "images"
    folder.mkdir()
    splits = ["train"] * 8 + ["query"] * 2 + ["gallery"] * 4
    pids = [1, 1, 1, 1, 2, 2, 2, 2, 3, 4, 3, 3, 4, 4]
    for row in range(len(pids)):
        pixels = np.random.default_rng(row).integers(0, 255, (32, 16, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{row}.png")

    def custom(*, knows: bool) -> Manifest:
        return Manifest(
            name="custom",
            root=folder,
            paths=np.array([f"{row}.png" for row in range(len(pids))]),
            pids=np.array(pids),
            camids=no_cameras(len(pids)),
            splits=np.array(splits),
            has_cameras=knows,
        )

    DATASETS.register(custom, name="custom")
    yield "custom"
    DATASETS._local.pop("custom")


def settings(tmp_path, *, knows, **changes):
    return {
        "output": str(tmp_path / "run"),
        "data.train": [{"name": "custom", "knows": knows}],
        "data.batch": {"sampler": "identity", "identities": 2, "instances": 2},
        "epochs": 1,
        "train.schedule": {"name": "constant"},
        **changes,
    }


def test_case_b038_one_camera_is_refused_before_the_first_step(one_camera, tiny_recipe, tmp_path):
    config = load_config(tiny_recipe, settings(tmp_path, knows=True))
    with pytest.raises(DataError) as caught:
        DefaultTrainer(config)
    message = str(caught.value)
    assert (
        "data set custom: splits query and gallery: 0 of 2 queries have a cross-camera" in message
    )
    assert "(all images are of camera 0)" in message
    assert "evaluate.protocol=no_camera" in message
    assert not (tmp_path / "run").exists()


def test_case_b038_with_the_filter_off_the_run_finishes(one_camera, tiny_recipe, tmp_path):
    changes = settings(tmp_path, knows=True, **{"evaluate.protocol": "no_camera"})
    trainer = DefaultTrainer(load_config(tiny_recipe, changes))
    trainer.resume_or_load()
    trainer.train()
    (evaluation,) = trainer.results.evaluations
    assert evaluation.protocol == "no_camera"
    assert all(0 < value <= 1 for value in evaluation.metrics.values())


def test_case_b039_without_cameras_the_filter_is_off_and_the_result_says_so(
    one_camera, tiny_recipe, tmp_path, caplog
):
    caplog.set_level(logging.WARNING, "reid_core")
    trainer = DefaultTrainer(load_config(tiny_recipe, settings(tmp_path, knows=False)))
    assert any(
        "test set custom: its cameras are not known, so it is evaluated by protocol no_camera "
        "(camera filter off), not by market1501" in message
        for message in caplog.messages
    )
    trainer.resume_or_load()
    trainer.train()
    (evaluation,) = trainer.results.evaluations
    assert evaluation.protocol == "no_camera"
    assert "camera filter off" in evaluation.protocol_description
    assert evaluation.num_valid_queries == 2
    assert "protocol no_camera" in evaluation.line()
