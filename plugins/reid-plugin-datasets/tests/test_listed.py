import pytest

from reid_core.errors import DataError
from reid_plugin_datasets.listed import require_images


def test_only_some_files_of_a_long_list_are_asked_for(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        type(tmp_path), "is_file", lambda path, **_: asked.append(path.name) or True
    )
    paths = [f"{number}.jpg" for number in range(10_000)]
    assert require_images(tmp_path, paths, dataset="mine", source="list.txt") == ()
    assert len(asked) == 200
    assert (asked[0], asked[-1]) == ("0.jpg", "9950.jpg")


def test_all_are_counted_where_one_is_missing(tmp_path):
    paths = [f"{number}.jpg" for number in range(1000)]
    for path in paths[:500]:
        (tmp_path / path).touch()
    assert require_images(tmp_path, paths, dataset="mine", source="list.txt") == (
        "500 of the 1000 images of list.txt are missing, for example 500.jpg; 'reid-data check' "
        "lists them",
    )


def test_none_of_them_is_an_error_that_shows_what_is_there(tmp_path):
    for number in range(7):
        (tmp_path / "train" / f"{number}.png").parent.mkdir(exist_ok=True)
        (tmp_path / "train" / f"{number}.png").touch()
    (tmp_path / "train" / ".hidden").touch()
    with pytest.raises(DataError) as error:
        require_images(tmp_path, ["train/a/1.jpg"], dataset="mine", source="list.txt")
    assert str(error.value) == (
        f"data set mine: list.txt names train/a/1.jpg, and there is no such file in {tmp_path}; "
        f"the nearest folder that exists is {tmp_path / 'train'}, which holds 0.png, 1.png, 2.png, "
        "3.png, 4.png and 2 more; put the images where list.txt says"
    )


def test_an_empty_list_needs_nothing(tmp_path):
    assert require_images(tmp_path, [], dataset="mine", source="list.txt") == ()
