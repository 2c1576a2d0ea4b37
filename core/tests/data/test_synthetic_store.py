import shutil
import subprocess
import sys
from os import environ, pathsep

import numpy as np
import pytest
from PIL import Image

from reid_core.data.datasets.synthetic.plan import Picture
from reid_core.data.datasets.synthetic.store import ensure_drawn
from reid_core.errors import DataError

PICTURES = [
    Picture(f"{folder}/{name}.png", 1, 1, "train", None, ())
    for folder in ("bounding_box_train", "query")
    for name in ("a", "b")
]

KILLED_PROGRAM = """
import os, sys
from pathlib import Path
import numpy as np
from reid_core.data.datasets.synthetic.plan import Picture
from reid_core.data.datasets.synthetic.store import ensure_drawn
def draw(picture):
    if picture.path.endswith("b.png"):
        os._exit(9)
    return np.zeros((4, 2, 3), dtype=np.uint8)
pictures = [Picture(f"query/{name}.png", 1, 1, "query", None, ()) for name in "ab"]
ensure_drawn(Path(sys.argv[1]), pictures, draw)
"""


def grey(picture: Picture) -> np.ndarray:
    return np.full((4, 2, 3), 128, dtype=np.uint8)


def names(folder) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.png"))


def test_all_pictures_are_drawn_and_nothing_else_is_left(tmp_path):
    ensure_drawn(tmp_path / "set", PICTURES, grey)
    assert names(tmp_path / "set") == [picture.path for picture in PICTURES]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]
    np.testing.assert_array_equal(
        np.asarray(Image.open(tmp_path / "set" / "query" / "a.png")), grey(PICTURES[0])
    )


def test_a_whole_folder_is_not_drawn_again(tmp_path):
    ensure_drawn(tmp_path / "set", PICTURES, grey)

    def never(picture: Picture) -> np.ndarray:
        raise AssertionError(f"{picture.path} was drawn again")

    ensure_drawn(tmp_path / "set", PICTURES, never)


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_an_interrupted_drawing_leaves_nothing(tmp_path, failure):
    def stops(picture: Picture) -> np.ndarray:
        if picture is PICTURES[2]:
            raise failure
        return grey(picture)

    with pytest.raises(failure):
        ensure_drawn(tmp_path / "set", PICTURES, stops)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_leaves_is_not_taken_for_whole(tmp_path):
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_PROGRAM, str(tmp_path / "set")],
        env={**environ, "PYTHONPATH": pathsep.join(path for path in sys.path if path)},
        check=False,
    )
    assert killed.returncode == 9
    assert names(tmp_path), "the process was to be killed halfway"
    assert not (tmp_path / "set").exists()
    ensure_drawn(tmp_path / "set", PICTURES, grey)
    assert names(tmp_path / "set") == [picture.path for picture in PICTURES]


def test_of_two_that_draw_at_once_both_end_with_a_whole_folder(tmp_path):
    """The second process starts and ends while the first is in its third picture."""

    def slow(picture: Picture) -> np.ndarray:
        if picture is PICTURES[2]:
            ensure_drawn(tmp_path / "set", PICTURES, grey)
        return grey(picture)

    ensure_drawn(tmp_path / "set", PICTURES, slow)
    assert names(tmp_path / "set") == [picture.path for picture in PICTURES]
    assert [path.name for path in tmp_path.iterdir()] == ["set"]


def test_a_vanished_picture_is_named_with_the_folder_to_delete(tmp_path):
    folder = tmp_path / "set"
    ensure_drawn(folder, PICTURES, grey)
    (folder / "query" / "a.png").unlink()
    with pytest.raises(DataError) as caught:
        ensure_drawn(folder, PICTURES, grey)
    assert "1 of 4 pictures have vanished" in str(caught.value)
    assert "query/a.png; delete that folder" in str(caught.value)
    assert str(folder) in str(caught.value)
    shutil.rmtree(folder)
    ensure_drawn(folder, PICTURES, grey)


def test_a_folder_that_cannot_be_written_says_what_to_set(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(DataError, match=r"cannot draw into .*file.*REID_CACHE"):
        ensure_drawn(tmp_path / "file" / "set", PICTURES, grey)


def test_progress_is_shown_while_drawing(tmp_path, monkeypatch):
    shown = []

    def watch(items, *, total, description):
        shown.append((total, description))
        yield from items

    monkeypatch.setattr("reid_core.data.datasets.synthetic.store.track", watch)
    ensure_drawn(tmp_path / "set", PICTURES, grey)
    assert shown == [(4, "drawing synthetic pictures, once")]
