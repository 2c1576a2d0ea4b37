import random

import numpy as np
import pytest
import torch

from reid_core.errors import ConfigError, DataError
from reid_core.evaluation import Embeddings, evaluate_retrieval
from reid_core.evaluation.protocols.sysu_mm01 import sysu_mm01 as protocol
from reid_plugin_datasets.sysu_mm01 import sysu_mm01
from reid_plugin_datasets.testing.modalities import SYSU_SEEN, write_sysu_mm01


@pytest.fixture
def root(tmp_path):
    return write_sysu_mm01(tmp_path)


def test_lists_say_who_is_trained_on(root):
    assert sysu_mm01(root).select("train").identities.tolist() == [1, 5, 9]
    assert sysu_mm01(root, validation="out").select("train").identities.tolist() == [1, 5]


def test_cameras_3_and_6_are_infrared(root):
    manifest = sysu_mm01(root)
    assert all(
        modality == ("infrared" if camera in (3, 6) else "rgb")
        for modality, camera in zip(
            manifest.columns["modalities"].tolist(), manifest.camids.tolist(), strict=True
        )
    )
    assert {"rgb", "infrared"} == set(manifest.columns["modalities"].tolist())


def test_all_infrared_images_of_the_test_are_queries(root):
    query = sysu_mm01(root).select("query")
    assert sorted(zip(query.pids.tolist(), query.camids.tolist(), strict=True)) == sorted(
        [(4, 3)] * 3 + [(4, 6)] * 3 + [(6, 3)] * 3
    )


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("all", [(4, 1), (4, 2), (4, 4), (4, 5), (6, 2), (6, 5)]),
        ("indoor", [(4, 1), (4, 2), (6, 2)]),
    ],
)
def test_the_gallery_is_all_visible_images_or_one_an_identity_and_camera(root, mode, expected):
    for draw, images in ((None, 3), (0, 1)):
        gallery = sysu_mm01(root, mode=mode, draw=draw).select("gallery")
        seen = list(zip(gallery.pids.tolist(), gallery.camids.tolist(), strict=True))
        assert seen == [pair for pair in expected for _ in range(images)]
        assert set(gallery.columns["modalities"].tolist()) == {"rgb"}
    assert "from which the protocol sysu_mm01 draws" in sysu_mm01(root, mode=mode).notes[1]


@pytest.mark.parametrize("draw", range(10))
def test_the_draws_are_those_of_published_code(root, draw):
    random.seed(draw)
    expected = []
    for pid in (4, 6):
        for camera in (1, 2, 4, 5):
            if camera in SYSU_SEEN[pid]:
                names = [f"cam{camera}/{pid:04d}/{number:04d}.jpg" for number in (1, 2, 3)]
                expected.append(random.choice(names))
    assert sysu_mm01(root, draw=draw).select("gallery").paths.tolist() == expected


def embedded(manifest):
    """Return embeddings that depend on the image alone, of queries and gallery."""
    sides = []
    for split in ("query", "gallery"):
        rows = manifest.select(split)
        features = [
            np.random.default_rng(list(path.encode())).normal(size=4)
            for path in rows.paths.tolist()
        ]
        sides.append(
            Embeddings(
                torch.tensor(np.array(features)).float(), rows.pids, rows.camids, rows.columns
            )
        )
    return sides


@pytest.mark.parametrize("mode", ["all", "indoor"])
def test_the_protocol_of_all_images_is_the_mean_over_the_ten_draws(root, mode):
    together = evaluate_retrieval(
        *embedded(sysu_mm01(root, mode=mode)), protocol=protocol(mode=mode)
    )
    singles = [
        evaluate_retrieval(
            *embedded(sysu_mm01(root, mode=mode, draw=draw)), protocol=protocol(mode=mode, draws=1)
        )
        for draw in range(10)
    ]
    assert together.num_trials == 10
    assert len({one.mAP for one in singles}) > 3
    assert together.mAP == pytest.approx(np.mean([one.mAP for one in singles]), abs=1e-12)
    assert together.mINP == pytest.approx(np.mean([one.mINP for one in singles]), abs=1e-12)
    assert together.cmc == pytest.approx(np.mean([one.cmc for one in singles], axis=0))


def test_cameras_2_and_3_are_one_place(root):
    manifest = sysu_mm01(root)
    places = manifest.columns["places"]
    assert set(places[manifest.camids == 3].tolist()) == {2}
    assert all(set(places[manifest.camids == c].tolist()) == {c} for c in (1, 2, 4, 5, 6))


def test_counts_are_published_for_the_usual_settings_only(root):
    assert {s: tuple(c) for s, c in sysu_mm01(root, draw=0).expected.items()} == {
        "train": (34_167, 395),
        "query": (3_803, 96),
        "gallery": (301, 96),
    }
    assert set(sysu_mm01(root).expected) == {"train", "query"}
    assert set(sysu_mm01(root, mode="indoor", draw=0, validation="out").expected) == {"query"}


def test_an_identity_in_training_and_test_is_refused(root):
    (root / "SYSU-MM01" / "exp" / "val_id.txt").write_text("9,4")
    with pytest.raises(DataError, match=r"1 identities are trained on and tested, for example 4"):
        sysu_mm01(root)


def test_a_camera_without_folders_of_identities_shows_its_names(root):
    for path in sorted((root / "SYSU-MM01" / "cam6").glob("*/*.jpg")):
        path.rename(path.parent.parent / f"{path.parent.name}_{path.name}")
    with pytest.raises(
        DataError, match=r"names that do not fit: cam6/0001_0001.jpg.*0001/0001.jpg"
    ):
        sysu_mm01(root)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"mode": "outdoor"}, "mode is 'outdoor'; expected all or indoor"),
        ({"draw": 10}, "draw is 10; expected a whole number from 0 to 9"),
        ({"validation": "yes"}, "validation is 'yes'; expected train or out"),
    ],
)
def test_wrong_parameters_are_refused(root, parameters, message):
    with pytest.raises(ConfigError, match=message):
        sysu_mm01(root, **parameters)
