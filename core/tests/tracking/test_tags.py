from __future__ import annotations

import pytest

from reid_core.tracking.tags import tag_of


@pytest.mark.parametrize(
    ("name", "tag"),
    [
        ("loss", "train/loss"),
        ("loss/triplet", "train/loss_triplet"),
        ("accuracy", "train/accuracy"),
        ("lr", "lr"),
        ("time/step", "time/step"),
        ("market1501/mAP", "val/market1501/mAP"),
        ("a/b/mAP", "val/a/b/mAP"),
        ("a/mAP", "train/a_mAP"),
    ],
)
def test_numbers_have_the_usual_tags(name, tag):
    assert tag_of(name, {"market1501", "a/b"}) == tag
