import base64
import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from reid_core.data.image_rows import ImageRows
from reid_core.data.manifest import Manifest
from reid_core.report.thumbnails import picture, shown_by


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


def quarters(path, **keywords):
    """Red, green, blue and white quarters."""
    pixels = np.zeros((40, 20, 3), dtype=np.uint8)
    pixels[:20, :10], pixels[:20, 10:] = (255, 0, 0), (0, 255, 0)
    pixels[20:, :10], pixels[20:, 10:] = (0, 0, 255), (255, 255, 255)
    Image.fromarray(pixels).save(path, **keywords)
    return pixels


def centre(made):
    shown = decode(made.uri)
    return np.asarray(shown)[shown.height // 2, shown.width // 2]


@pytest.mark.parametrize(
    ("box", "colour"), [((10, 0, 10, 20), (0, 255, 0)), ((-5, 20, 15, 90), (0, 0, 255))]
)
def test_a_box_is_cut_out_before_the_thumbnail_is_made(box, colour, tmp_path):
    quarters(tmp_path / "x.png")
    made = picture(str(tmp_path / "x.png"), box)
    assert decode(made.uri).size == (10, 20)
    assert np.abs(centre(made).astype(int) - colour).max() < 8


def test_a_thumbnail_is_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6
    quarters(tmp_path / "x.jpg", exif=exif)
    assert decode(picture(str(tmp_path / "x.jpg")).uri).size == (40, 20)
    made = picture(str(tmp_path / "x.jpg"), (20, 0, 20, 10))
    assert np.abs(centre(made).astype(int) - (255, 0, 0)).max() < 20


def test_a_box_of_a_file_that_is_gone_or_beside_it_gives_its_name(tmp_path):
    assert picture(str(tmp_path / "x.png"), (0, 0, 5, 5)).problem == "file not found"
    quarters(tmp_path / "x.png")
    assert picture(str(tmp_path / "x.png"), (90, 0, 5, 5)).problem == "not a readable image"


class Shelf:
    def __init__(self, folder):
        self.folder = folder

    def read(self, path):
        return (self.folder / path).read_bytes()

    def locate(self, path):
        return f"shelf/{path}"


def rows(folder, store=None):
    return ImageRows(
        [
            Manifest(
                name="set",
                root=folder,
                paths=np.array(["x.png", "x.png"]),
                pids=np.arange(2),
                camids=np.arange(2),
                splits=np.array(["query", "gallery"]),
                columns={"boxes": np.array([[np.nan] * 4, [10, 0, 10, 20]])},
                store=store,
            )
        ]
    )


def test_records_carry_what_the_path_alone_does_not_say(tmp_path):
    quarters(tmp_path / "x.png")
    assert shown_by(rows(tmp_path), 0) == {}
    assert shown_by(rows(tmp_path), 1) == {"box": [10.0, 0.0, 10.0, 20.0]}
    stored = rows(Path("none"), Shelf(tmp_path))
    whole, part = (decode(shown_by(stored, row)["thumbnail"]) for row in (0, 1))
    assert (whole.size, part.size) == ((20, 40), (10, 20))
    (tmp_path / "x.png").unlink()
    assert shown_by(stored, 1) == {}
