import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Embeddings, evaluate_retrieval
from reid_core.evaluation.protocols.prcc import prcc as protocol
from reid_plugin_datasets.prcc import prcc
from reid_plugin_datasets.testing.modalities import write_prcc


@pytest.fixture
def root(tmp_path):
    return write_prcc(tmp_path)


def test_the_first_letter_of_a_training_image_is_its_camera(root):
    train = prcc(root).select("train")
    assert train.pids.tolist() == [1, 1, 1, 3, 3, 3]
    assert train.camids.tolist() == ["A", "B", "C"] * 2


def test_people_wear_other_clothes_before_camera_c_only(root):
    manifest = prcc(root)
    clothids = manifest.columns["clothids"]
    expected = [
        2 * pid + (1 if camera == "C" else 0)
        for pid, camera in zip(manifest.pids.tolist(), manifest.camids.tolist(), strict=True)
    ]
    assert clothids.tolist() == expected
    assert clothids.dtype == np.int64


@pytest.mark.parametrize(("clothes", "camera"), [("same", "B"), ("changed", "C")])
def test_queries_are_of_the_camera_that_the_clothes_say(root, clothes, camera):
    manifest = prcc(root, clothes=clothes)
    query, gallery = manifest.select("query"), manifest.select("gallery")
    assert set(query.camids.tolist()) == {camera}
    assert set(gallery.camids.tolist()) == {"A"}
    worn = set(query.columns["clothids"].tolist())
    assert (worn == set(gallery.columns["clothids"].tolist())) is (clothes == "same")
    assert query.paths[0] == f"rgb/test/{camera}/002/cropped_rgb001.jpg"


def test_the_gallery_may_be_one_image_an_identity(root):
    drawn = [prcc(root, gallery="one", draw=draw).select("gallery") for draw in range(10)]
    assert all(gallery.pids.tolist() == [2, 4] for gallery in drawn)
    paths = [tuple(gallery.paths.tolist()) for gallery in drawn]
    assert len(set(paths)) > 3
    again = prcc(root, gallery="one", draw=4).select("gallery")
    assert tuple(again.paths.tolist()) == paths[4]
    assert any("draw 4" in note for note in again.notes)


def test_validation_images_are_of_the_training_people(root):
    train = prcc(root, validation="train").select("train")
    assert len(train) == 8
    assert train.identities.tolist() == [1, 3]


def test_published_counts_follow_the_parameters(root):
    assert tuple(prcc(root).expected["query"]) == (3_873, 71)
    assert tuple(prcc(root, clothes="same").expected["query"]) == (3_543, 71)
    assert tuple(prcc(root, validation="train").expected["train"]) == (22_898, 150)
    assert tuple(prcc(root, gallery="one").expected["gallery"]) == (71, 71)
    # All parts add up to the 33,698 images of the paper.
    assert 22_898 + 3_873 + 3_543 + prcc(root).expected["gallery"].images == 33_698


def test_names_that_do_not_fit_are_shown(root):
    folder = root / "prcc" / "rgb" / "train"
    for path in sorted(folder.glob("*/*.jpg")):
        path.rename(path.with_name(path.name.lower()))
    with pytest.raises(
        DataError, match=r"rgb/train/001/a_cropped_rgb001.jpg.*001/A_cropped_rgb001"
    ):
        prcc(root)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"clothes": "other"}, "clothes is 'other'; expected same or changed"),
        ({"gallery": "two"}, "gallery is 'two'; expected all or one"),
        ({"validation": "test"}, "validation is 'test'; expected out or train"),
        ({"draw": -1}, "draw is -1; expected a whole number from 0 to 9"),
    ],
)
def test_wrong_parameters_are_refused(root, parameters, message):
    with pytest.raises(ConfigError, match=message):
        prcc(root, **parameters)


def embedded(manifest):
    """Return embeddings that depend on the image alone, of queries and gallery."""
    sides = []
    for split in ("query", "gallery"):
        rows = manifest.select(split)
        features = [
            np.random.default_rng(list(path.encode())).normal(size=3)
            for path in rows.paths.tolist()
        ]
        sides.append(
            Embeddings(
                torch.tensor(np.array(features)).float(),
                rows.pids,
                np.zeros(len(rows), dtype=np.int64),
                rows.columns,
            )
        )
    return sides


@pytest.mark.parametrize("clothes", ["same", "changed"])
def test_the_protocol_of_all_images_is_the_mean_over_the_ten_draws(clothes, root):
    together = evaluate_retrieval(
        *embedded(prcc(root, clothes=clothes)), protocol=protocol(clothes=clothes)
    )
    singles = [
        evaluate_retrieval(
            *embedded(prcc(root, clothes=clothes, gallery="one", draw=draw)),
            protocol=protocol(clothes=clothes, draws=1),
        )
        for draw in range(10)
    ]
    assert len({one.mAP for one in singles}) > 1
    assert together.mAP == pytest.approx(np.mean([one.mAP for one in singles]), abs=1e-12)
    assert together.cmc == pytest.approx(np.mean([one.cmc for one in singles], axis=0))
