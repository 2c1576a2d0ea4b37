import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reid_core.report.thumbnails import picture


def decode(uri):
    head, body = uri.split(",", 1)
    assert head == "data:image/jpeg;base64"
    return Image.open(io.BytesIO(base64.b64decode(body)))


@pytest.mark.parametrize(
    ("size", "expected"),
    [((640, 1280), (64, 128)), ((1000, 500), (64, 32)), ((100, 1000), (13, 128)), ((8, 9), (8, 9))],
)
def test_thumbnails_fit_and_keep_their_proportions(tmp_path, size, expected):
    path = tmp_path / "x.jpg"
    Image.new("RGB", size, (200, 30, 90)).save(path)
    made = picture(str(path))
    assert decode(made.uri).size == expected
    assert (made.name, made.problem) == ("x.jpg", "")


@pytest.mark.parametrize("mode", ["L", "P", "RGBA", "1", "I;16", "CMYK"])
def test_every_pixel_format_becomes_colour(tmp_path, mode):
    path = tmp_path / "x.tif"
    Image.new(mode, (20, 30)).save(path)
    assert decode(picture(str(path)).uri).mode == "RGB"


def test_the_thumbnail_shows_the_image(tmp_path):
    pixels = np.zeros((128, 64, 3), dtype=np.uint8)
    pixels[:64] = (230, 20, 20)
    pixels[64:] = (20, 20, 230)
    path = tmp_path / "x.png"
    Image.fromarray(pixels).save(path)
    shown = np.asarray(decode(picture(str(path)).uri), dtype=np.int64)
    assert np.abs(shown - pixels).mean() < 4


def test_a_missing_file_gives_its_name(tmp_path):
    made = picture(str(tmp_path / "gone é <b>.png"))
    assert (made.name, made.uri, made.problem) == ("gone é <b>.png", None, "file not found")


@pytest.mark.parametrize("content", [b"", b"no image", b"\x89PNG\r\n\x1a\n" + b"\x00" * 40])
def test_a_damaged_file_gives_its_name(tmp_path, content):
    path = tmp_path / "x.png"
    path.write_bytes(content)
    assert picture(str(path)).problem == "not a readable image"


def test_a_cut_off_file_gives_its_name(tmp_path):
    path = tmp_path / "x.jpg"
    Image.effect_noise((300, 300), 90).save(path)
    path.write_bytes(path.read_bytes()[:2000])
    assert picture(str(path)).problem == "not a readable image"


@pytest.mark.parametrize("path", ["", "\x00", str(Path("/"))])
def test_a_path_that_is_no_file_is_no_error(path):
    assert picture(path).uri is None
