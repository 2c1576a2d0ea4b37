"""``reid-train --check`` decodes what the run would read: boxes and other stores too."""

import logging
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from reid_core.data.datasets.market1501 import market1501
from reid_core.data.query_gallery import TestSet
from reid_core.engine.trial.preflight import check_images
from reid_core.errors import DataError


def trainer_of(manifest, broken_images="fail"):
    tests = [TestSet.of(manifest)]
    return SimpleNamespace(
        train_manifests=[manifest.select("train")],
        sources=SimpleNamespace(test_sets_or_none=lambda: tests),
        config=SimpleNamespace(data=SimpleNamespace(broken_images=broken_images)),
    )


def with_boxes(manifest, **boxes):
    column = np.full((len(manifest), 4), np.nan)
    for row, box in boxes.items():
        column[int(row[1:])] = box
    return replace(manifest, columns={"boxes": column})


def test_all_images_are_counted_once(tiny_market, caplog):
    manifest = market1501(tiny_market)
    twice = with_boxes(manifest.take(np.r_[0, 0, 0, np.arange(len(manifest))]), r1=(0, 0, 4, 4))
    caplog.set_level(logging.INFO, logger="reid_core")
    check_images(trainer_of(twice))
    assert f"all {len(manifest) + 1} images can be read" in caplog.text


def test_a_box_that_holds_nothing_is_found(tiny_market):
    manifest = with_boxes(market1501(tiny_market), r2=(500, 0, 4, 4))
    with pytest.raises(DataError) as caught:
        check_images(trainer_of(manifest))
    message = str(caught.value)
    assert message.startswith(f"1 of {len(manifest)} images are broken:\n  image ")
    assert "row 2: its box x 500, y 0, width 4, height 4 lies outside of the image" in message
    assert message.endswith("repair or remove them, or set data.broken_images=skip")


def test_with_skip_the_list_is_a_warning(tiny_market, caplog):
    check_images(trainer_of(with_boxes(market1501(tiny_market), r2=(500, 0, 4, 4)), "skip"))
    assert "images are broken:" in caplog.text
