from __future__ import annotations

from pathlib import Path

import numpy as np

from reid_core.data.manifest import Manifest, no_cameras
from reid_core.data.statistics import CameraStats, Spread, column_stats, split_stats


def manifest(**fields: object) -> Manifest:
    values = {
        "pids": np.array([1, 1, 1, 2, 0, -1, 7]),
        "camids": np.array(["a", "b", "b", "b", "a", "a", "c"]),
        "splits": np.array(["gallery"] * 6 + ["train"]),
        "distractors": (0,),
        **fields,
    }
    count = len(values["pids"])  # type: ignore[arg-type]
    paths = np.array([f"{row}.jpg" for row in range(count)])
    return Manifest(name="mine", root=Path("mine"), paths=paths, **values)  # type: ignore[arg-type]


def test_splits_are_counted_without_nobody_among_the_identities() -> None:
    train, gallery = split_stats(manifest())
    assert (train.split, train.images, train.identities, train.distractors) == ("train", 1, 1, 0)
    assert (gallery.images, gallery.identities, gallery.distractors) == (6, 2, 2)
    assert gallery.images_per_identity == Spread(1, 2, 2, 3)
    assert gallery.cameras_per_identity == Spread(1, 1.5, 1.5, 2)
    assert gallery.cameras == (CameraStats("a", 3, 1), CameraStats("b", 3, 2))


def test_cameras_that_are_not_known_are_not_counted() -> None:
    (gallery, *_) = split_stats(
        manifest(camids=no_cameras(7), has_cameras=False, splits=np.array(["gallery"] * 7))
    )
    assert gallery.cameras == ()
    assert gallery.cameras_per_identity is None


def test_a_split_of_distractors_alone_has_no_spread() -> None:
    rows = manifest().take(np.array([4, 5]))
    (gallery,) = split_stats(rows)
    assert (gallery.images, gallery.identities) == (2, 0)
    assert gallery.images_per_identity is None
    assert gallery.cameras == (CameraStats("a", 2, 0),)


def test_columns_are_described_by_their_type() -> None:
    columns = {
        "times": np.array([1.5, np.nan, 3.0, 3.0, 3.0, 3.0, 3.0]),
        "viewids": np.array([0, 1, 2, 3, 0, 0, 0]),
        "species": np.array(["kudu", "", "nyala", "a", "b", "c", "d"]),
        "attributes": np.tile(np.array([[1, 0, -1]]), (7, 1)),
        "boxes": np.full((7, 4), np.nan),
    }
    found = {one.name: one for one in column_stats(manifest(columns=columns))}
    assert list(found) == ["attributes", "boxes", "species", "times", "viewids"]
    times = found["times"]
    assert (times.dtype, times.missing, times.distinct) == ("float", 1, 2)
    assert (times.minimum, times.maximum) == (1.5, 3.0)
    views = found["viewids"]
    assert (views.dtype, views.missing, views.distinct) == ("integer", 0, 4)
    species = found["species"]
    assert (species.dtype, species.missing, species.distinct) == ("text", 1, 6)
    assert species.values == ("a", "b", "c", "d", "kudu")
    assert (species.minimum, species.maximum) == (None, None)
    attributes = found["attributes"]
    assert (attributes.shape, attributes.distinct) == ((3,), None)
    assert (attributes.minimum, attributes.maximum) == (-1, 1)
    assert (found["boxes"].missing, found["boxes"].minimum) == (7, None)
