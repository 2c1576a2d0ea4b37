import pytest

from reid_core.errors import ConfigError, DataError
from reid_plugin_datasets.testing.images import write_image
from reid_plugin_datasets.testing.vehicles import write_university1652
from reid_plugin_datasets.university1652 import university1652


def test_folders_name_view_and_building(tmp_path):
    manifest = university1652(write_university1652(tmp_path))
    train = manifest.select("train")
    assert train.pids.tolist() == ["0839", "0842"] + ["0839"] * 2 + ["0842"] * 2 + ["0839", "0842"]
    assert train.columns["viewids"].tolist() == [0, 0, 1, 1, 1, 1, 2, 2]
    assert manifest.select("query").paths.tolist() == ["test/query_drone/0001/image-01.jpeg"]
    assert manifest.select("gallery").paths.tolist() == [
        "test/gallery_satellite/0001/0001.jpg",
        "test/gallery_satellite/0703/0703.jpg",
    ]
    assert not manifest.has_cameras


@pytest.mark.parametrize(
    ("task", "views", "query", "gallery"),
    [
        ("drone_to_satellite", [1, 0], (37855, 701), (951, 951)),
        ("satellite_to_drone", [0, 1], (701, 701), (51355, 951)),
        ("street_to_satellite", [2, 0], (2579, 701), (951, 951)),
        ("satellite_to_street", [0, 2], (701, 701), (2921, 793)),
        ("street_to_drone", [2, 1], (2579, 701), (51355, 951)),
        ("drone_to_street", [1, 2], (37855, 701), (2921, 793)),
    ],
)
def test_a_task_chooses_the_views_of_the_test(tmp_path, task, views, query, gallery):
    manifest = university1652(write_university1652(tmp_path), task=task)
    seen = {
        split: set(manifest.select(split).columns["viewids"].tolist())
        for split in ("query", "gallery")
    }
    assert seen == {"query": {views[0]}, "gallery": {views[1]}}
    assert manifest.expected == {"train": (50218, 701), "query": query, "gallery": gallery}


def test_views_to_train_on_are_chosen(tmp_path):
    write_university1652(tmp_path)
    two = university1652(tmp_path, train_views=("drone", "satellite"))
    assert two.select("train").columns["viewids"].tolist() == [1, 1, 1, 1, 0, 0]
    assert two.expected["train"] == (38555, 701)
    noisy = university1652(tmp_path, train_views=("satellite", "google"))
    assert noisy.select("train").paths.tolist()[2:] == ["train/google/0839/1.jpg"]
    assert "train" not in noisy.expected


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"task": "drone_to_moon"}, "task is 'drone_to_moon'; expected one of drone_to_satellite"),
        ({"train_views": ()}, r"train_views is \[\]; expected some of satellite, drone"),
        ({"train_views": ("drone", "drone")}, "each once"),
        ({"train_views": ("moon",)}, "expected some of satellite, drone, street, google"),
    ],
)
def test_wrong_parameters_are_refused(tmp_path, parameters, message):
    with pytest.raises(ConfigError, match=message):
        university1652(tmp_path, **parameters)


def test_images_outside_of_a_folder_of_a_building_are_named(tmp_path):
    folder = write_university1652(tmp_path) / "University-1652"
    write_image(folder / "train" / "drone" / "image-99.jpeg")
    assert "1 images ignored" in university1652(tmp_path).notes[2]
    for path in (folder / "test" / "query_drone" / "0001").iterdir():
        path.rename(folder / "test" / "query_drone" / path.name)
    with pytest.raises(DataError, match=r"query_drone; names .*image-01.jpeg; .*folder a building"):
        university1652(tmp_path)


def test_a_view_that_is_not_there_is_named(tmp_path):
    folder = write_university1652(tmp_path) / "University-1652"
    (folder / "test" / "query_street").rename(folder / "query_street")
    with pytest.raises(
        DataError, match=r"University-1652 lacks test/query_street; it holds query_"
    ):
        university1652(tmp_path, task="street_to_drone")
