"""B010 orientation, B011 and B012 modes, B013 broken files."""

import io
import zlib
from struct import pack

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps, UnidentifiedImageError

from reid_core.data import image_reader
from reid_core.data.image_reader import (
    MAX_PIXELS,
    BrokenImageError,
    decode_image,
    open_image,
    read_image,
    read_stored,
)

ORIENTATION = 0x0112


def palette_image(index=3, colour=(10, 20, 30)):
    image = Image.new("P", (4, 4), index)
    image.putpalette([*([0, 0, 0] * index), *colour, *([0, 0, 0] * (255 - index))])
    return image


def sixteen_bit(*values):
    return Image.fromarray(np.array([values], dtype=np.uint16))


def encoded(image, kind, **keywords):
    stream = io.BytesIO()
    image.save(stream, kind, **keywords)
    return stream.getvalue()


def photo(height=48, width=24):
    """Smooth, so that JPEG keeps it, and different in each corner."""
    rows, columns = np.mgrid[0:height, 0:width]
    pixels = np.stack([rows * 5, columns * 10, rows * 2 + columns * 4], axis=-1)
    return Image.fromarray(pixels.astype(np.uint8))


@pytest.mark.filterwarnings("error::UserWarning")
@pytest.mark.parametrize(
    ("image", "suffix", "keywords", "expected"),
    [
        (Image.new("RGB", (4, 4), (9, 8, 7)), "png", {}, (9, 8, 7)),
        (Image.new("RGB", (4, 4), (9, 8, 7)), "bmp", {}, (9, 8, 7)),
        (Image.new("RGB", (4, 4), (9, 8, 7)), "webp", {"lossless": True}, (9, 8, 7)),
        (Image.new("RGB", (4, 4), (9, 8, 7)), "png", {"transparency": (9, 8, 7)}, (9, 8, 7)),
        (Image.new("L", (4, 4), 128), "png", {}, (128, 128, 128)),
        (Image.new("L", (4, 4), 128), "jpg", {}, (128, 128, 128)),
        (Image.new("L", (4, 4), 128), "png", {"transparency": 128}, (128, 128, 128)),
        (Image.new("LA", (4, 4), (128, 0)), "png", {}, (128, 128, 128)),
        (Image.new("RGBA", (4, 4), (255, 0, 0, 0)), "png", {}, (255, 0, 0)),
        (Image.new("RGBA", (4, 4), (255, 0, 0, 0)), "webp", {"lossless": True, "exact": True},
         (255, 0, 0)),
        (palette_image(), "png", {}, (10, 20, 30)),
        (palette_image(), "gif", {}, (10, 20, 30)),
        (palette_image(), "png", {"transparency": 3}, (10, 20, 30)),
        (palette_image(), "png", {"transparency": bytes([255, 128, 64, 0])}, (10, 20, 30)),
        (palette_image().convert("PA"), "tif", {}, (10, 20, 30)),
        (Image.new("LA", (4, 4), (128, 7)), "tif", {}, (128, 128, 128)),
        (Image.new("1", (4, 4), 1), "png", {}, (255, 255, 255)),
        (Image.new("1", (4, 4), 1), "tif", {}, (255, 255, 255)),
        (Image.new("1", (4, 4), 1), "tif", {"compression": "group4"}, (255, 255, 255)),
        (Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "tif", {}, (255, 0, 0)),
        (Image.new("RGB", (4, 4), (9, 8, 7)), "tif", {"compression": "tiff_lzw"}, (9, 8, 7)),
        (Image.new("1", (4, 4), 0), "png", {}, (0, 0, 0)),
        (Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "jpg", {}, (255, 0, 0)),
    ],
)  # fmt: skip
def test_every_mode_becomes_rgb(image, suffix, keywords, expected, tmp_path):
    path = tmp_path / f"image.{suffix}"
    image.save(path, **keywords)
    pixels = read_image(path)
    assert pixels.dtype == torch.uint8
    assert pixels.shape == (3, 4, 4)
    assert torch.equal(pixels, torch.tensor(expected).view(3, 1, 1).expand(3, 4, 4))


def test_sixteen_bits_are_scaled_and_not_clipped(tmp_path):
    sixteen_bit(0, 256, 32896, 65535).save(tmp_path / "thermal.png")
    pixels = read_image(tmp_path / "thermal.png")
    assert pixels.tolist() == [[[0, 1, 128, 255]]] * 3


@pytest.mark.parametrize("kind", ["PNG", "TIFF"])
def test_sixteen_bits_are_scaled_in_every_format_of_grey(kind):
    pixels = decode_image(encoded(sixteen_bit(0, 255, 256, 65535), kind), "thermal")
    assert pixels.tolist() == [[[0, 0, 1, 255]]] * 3


def png_of_sixteen_bit_colour(*colours):
    """Pillow reads such files and writes none."""
    scanline = b"\0" + b"".join(pack(">HHH", *colour) for colour in colours)
    return png_with(len(colours), 1, bits=16, content=scanline)


def test_sixteen_bits_of_colour_are_scaled_too():
    data = png_of_sixteen_bit_colour((0, 256, 32896), (65535, 255, 1000))
    pixels = decode_image(data, "colour")
    assert pixels[:, 0].T.tolist() == [[0, 1, 128], [255, 0, 3]]


@pytest.mark.parametrize("values", [(0, 70000), (-1, 5)])
def test_wider_integers_are_refused_and_not_clipped(values):
    data = encoded(Image.fromarray(np.array([values], dtype=np.int32)), "TIFF")
    found = f"integers of {values[0]} to {values[1]}; convert it to 8 or 16 bits, 0 to 65535"
    with pytest.raises(BrokenImageError, match=f"image depth is broken: its pixels are {found}"):
        decode_image(data, "depth")


def test_floating_point_pixels_are_refused(tmp_path):
    Image.fromarray(np.array([[0.5, 300.0]], dtype=np.float32)).save(tmp_path / "depth.tif")
    with pytest.raises(BrokenImageError, match=r"depth\.tif is broken: it holds floating-point"):
        read_image(tmp_path / "depth.tif")


@pytest.mark.parametrize(
    ("suffix", "keywords"), [("gif", {}), ("png", {}), ("webp", {"lossless": 1})]
)
def test_an_animation_gives_its_first_frame(suffix, keywords, tmp_path):
    red, green = (Image.new("RGB", (4, 4), colour) for colour in ((255, 0, 0), (0, 255, 0)))
    path = tmp_path / f"animation.{suffix}"
    red.save(path, save_all=True, append_images=[green], **keywords)
    assert read_image(path)[:, 0, 0].tolist() == [255, 0, 0]


@pytest.mark.parametrize(
    ("suffix", "keywords"),
    [
        ("png", {}),
        ("webp", {"lossless": True}),
        ("jpg", {"subsampling": 0}),
        ("tif", {}),
        ("tif", {"compression": "tiff_deflate"}),
    ],
)
def test_a_quarter_turn_of_exif_moves_the_red_corner(suffix, keywords, tmp_path):
    image = Image.new("RGB", (4, 2), (0, 0, 255))
    image.putpixel((0, 0), (255, 0, 0))
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    path = tmp_path / f"turned.{suffix}"
    image.save(path, exif=exif, **keywords)
    pixels = read_image(path)
    assert pixels.shape == (3, 4, 2)  # 2 wide, 4 high
    red = pixels[0].int() - pixels[2].int()
    assert (red == red.max()).nonzero().tolist() == [[0, 1]]  # x = 1, y = 0


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
def test_a_flagged_file_equals_its_upright_copy(kind, orientation, tmp_path):
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    data = encoded(photo(), kind, exif=exif)
    (tmp_path / "flagged").write_bytes(data)
    with Image.open(io.BytesIO(data)) as opened:
        upright = np.asarray(ImageOps.exif_transpose(opened).convert("RGB"))
    pixels = read_image(tmp_path / "flagged").permute(1, 2, 0).numpy()
    assert pixels.shape == upright.shape
    assert np.array_equal(pixels, upright)


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("keywords", [{}, {"quality": 30, "progressive": True, "subsampling": 0}])
def test_both_decoders_of_jpeg_give_the_same_bits(mode, keywords, tmp_path, monkeypatch):
    path = tmp_path / "photo.jpg"
    photo().convert(mode).save(path, **keywords)
    fast = read_image(path)
    monkeypatch.setattr(image_reader, "_HAS_FAST_JPEG", False)
    assert torch.equal(read_image(path), fast)


def without_adobe_marker(data):
    place = data.index(b"\xff\xee")
    length = int.from_bytes(data[place + 2 : place + 4], "big")
    return data[:place] + data[place + 2 + length :]


def marked_as_ycck(data):
    place = data.index(b"Adobe") + 11
    assert data[place] == 0
    return data[:place] + b"\x02" + data[place + 1 :]


# B011: inks of a JPEG are stored upside down, whether Adobe's marker says so or not.
@pytest.mark.parametrize("change", [without_adobe_marker, marked_as_ycck])
def test_both_decoders_read_inks_alike(change, monkeypatch):
    data = change(encoded(photo().convert("CMYK"), "JPEG", quality=95))
    fast = decode_image(data, "inks")
    monkeypatch.setattr(image_reader, "_HAS_FAST_JPEG", False)
    slow = decode_image(data, "inks")
    assert torch.equal(fast, slow)
    with Image.open(io.BytesIO(data)) as opened:
        reference = np.asarray(opened.convert("RGB"))
    assert np.array_equal(slow.permute(1, 2, 0).numpy(), reference)


class Bytes:
    def __init__(self, result):
        self.result = result

    def read(self, path):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def locate(self, path):
        return f"shelf/{path}"


def test_bytes_of_a_store_are_read_by_the_same_rule(tmp_path):
    exif = Image.Exif()
    exif[ORIENTATION] = 6
    data = encoded(photo().convert("CMYK"), "JPEG", exif=exif)
    (tmp_path / "a.jpg").write_bytes(data)
    expected = read_image(tmp_path / "a.jpg")
    assert torch.equal(decode_image(data, "a"), expected)
    assert torch.equal(read_stored(Bytes(data), "a.jpg"), expected)


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (b"", "image shelf/a.jpg is empty (0 bytes)"),
        (b"text", "image shelf/a.jpg is broken: it is no image of a known format"),
        (OSError(2, "No such file"), "image shelf/a.jpg cannot be opened: No such file"),
    ],
)
def test_errors_say_where_in_the_store_the_image_is(result, message):
    with pytest.raises(BrokenImageError) as caught:
        read_stored(Bytes(result), "a.jpg")
    assert str(caught.value) == message


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "GIF", "BMP", "WEBP"])
def test_a_file_cut_at_half_is_broken(kind, tmp_path):
    data = encoded(photo(), kind)
    path = tmp_path / "half.jpg"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(BrokenImageError, match=r"half\.jpg is broken: "):
        read_image(path)


def test_an_empty_file_is_told_apart(tmp_path):
    path = tmp_path / "empty.jpg"
    path.touch()
    with pytest.raises(BrokenImageError, match=r"empty\.jpg is empty \(0 bytes\)"):
        read_image(path)


def test_a_text_file_is_no_image(tmp_path):
    path = tmp_path / "note.jpg"
    path.write_text("hello")
    with pytest.raises(BrokenImageError) as caught:
        read_image(path)
    assert str(caught.value) == f"image {path} is broken: it is no image of a known format"


@pytest.mark.parametrize("name", ["missing.jpg", ".", "a\0b.jpg"])
def test_what_cannot_be_opened_says_so(name, tmp_path):
    with pytest.raises(BrokenImageError, match="cannot be opened: "):
        read_image(f"{tmp_path}/{name}")


def test_the_decoders_own_source_place_is_not_shown(tmp_path):
    data = encoded(photo(), "JPEG")
    path = tmp_path / "half.jpg"
    path.write_bytes(data[:-20])
    with pytest.raises(BrokenImageError) as caught:
        read_image(path)
    assert str(caught.value) == f"image {path} is broken: Image is incomplete or truncated"


def with_jpeg_size(data, width, height):
    place = data.index(b"\xff\xc0") + 5
    return data[:place] + pack(">HH", height, width) + data[place + 4 :]


def png_with(width, height, *, bits, content):
    def chunk(kind, content):
        return pack(">I", len(content)) + kind + content + pack(">I", zlib.crc32(kind + content))

    header = chunk(b"IHDR", pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0))
    body = chunk(b"IDAT", zlib.compress(content))
    return b"\x89PNG\r\n\x1a\n" + header + body + chunk(b"IEND", b"")


def png_of_size(width, height):
    return png_with(width, height, bits=8, content=b"\0")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", ["JPEG", "PNG"])
def test_a_header_that_claims_too_many_pixels_is_refused_before_they_are_allocated(kind, tmp_path):
    side = int(MAX_PIXELS**0.5) + 1
    damaged = with_jpeg_size(encoded(photo(), "JPEG"), side, side)
    (tmp_path / "huge").write_bytes(damaged if kind == "JPEG" else png_of_size(side, side))
    with pytest.raises(BrokenImageError, match=f"claims {side} × {side} pixels, more than"):
        read_image(tmp_path / "huge")


@pytest.mark.filterwarnings("error")
def test_the_limit_is_ours_where_pillow_has_one_of_its_own(tmp_path):
    # Pillow would refuse this in words of its own, without the size.
    (tmp_path / "huge.png").write_bytes(png_of_size(60_000, 60_000))
    with pytest.raises(BrokenImageError, match=f"60000 × 60000 pixels, more than {MAX_PIXELS}$"):
        read_image(tmp_path / "huge.png")
    # And it would warn of this one, which is read.
    with open_image(png_of_size(10_000, 10_000)) as opened:
        assert opened.size == (10_000, 10_000)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "BMP", "TIFF", "WEBP", "PPM"])
def test_formats_are_told_apart_as_pillow_tells_them(kind):
    data = encoded(photo(), kind)
    with open_image(data) as ours, Image.open(io.BytesIO(data)) as theirs:
        assert (ours.format, ours.size, ours.mode) == (theirs.format, theirs.size, theirs.mode)
    with pytest.raises(UnidentifiedImageError):
        open_image(b"<html>404</html>")


def test_the_size_of_a_jpeg_is_found_behind_other_segments(tmp_path):
    exif = Image.Exif()
    exif[ORIENTATION] = 1
    data = encoded(photo(), "JPEG", exif=exif, comment=b"x" * 300, progressive=True)
    padded = data[:2] + b"\xff" + data[2:]  # a fill byte is allowed before a marker
    (tmp_path / "long.jpg").write_bytes(padded)
    assert read_image(tmp_path / "long.jpg").shape == (3, 48, 24)
    place = padded.index(b"\xff\xc2") + 5
    (tmp_path / "long.jpg").write_bytes(padded[:place] + b"\xff\xff\xff\xff" + padded[place + 4 :])
    with pytest.raises(BrokenImageError, match="claims 65535 × 65535 pixels"):
        read_image(tmp_path / "long.jpg")


def test_a_png_with_a_wrong_checksum_is_an_error_and_not_a_crash(tmp_path):
    data = bytearray(encoded(photo(), "PNG"))
    data[data.index(b"IDAT") + 20] ^= 0xFF
    (tmp_path / "flipped.png").write_bytes(data)
    with pytest.raises(BrokenImageError):
        read_image(tmp_path / "flipped.png")


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    kind=st.sampled_from(["JPEG", "PNG", "GIF", "BMP", "WEBP"]),
    changes=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4),
    keep=st.floats(0.05, 1),
)
def test_damaged_bytes_give_an_image_or_an_error_and_nothing_else(kind, changes, keep, tmp_path):
    data = bytearray(encoded(photo(), kind))
    for place, value in changes:
        data[int(place * len(data))] = value
    path = tmp_path / "damaged"
    path.write_bytes(data[: int(keep * len(data))])
    try:
        pixels = read_image(path)
    except BrokenImageError:
        return
    assert pixels.dtype == torch.uint8
    assert pixels.shape[0] == 3
