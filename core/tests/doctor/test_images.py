"""What the pixels of a set tell: kinds, sizes, copies."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image, ImageFilter

from reid_core.doctor import near_candidates
from reid_core.doctor.duplicates import check_duplicates
from reid_core.doctor.examine import check_images
from reid_core.doctor.near_duplicates import check_near_duplicates
from reid_core.doctor.row_labels import RowLabels
from reid_core.doctor.scan import scan_images, streamed


@pytest.fixture
def noise():
    """An image (width, height) of smooth colours, different for each seed."""

    def make(seed, size=(32, 48)):
        coarse = np.random.default_rng(seed).integers(0, 256, (8, 6, 3), dtype=np.uint8)
        return Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)

    return make


def encoded(image, kind, **options):
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def findings(*manifests):
    return {finding.code: finding for finding in check_images(scan_images(manifests))}


@pytest.fixture
def usual(noise):
    """Forty images that nothing is wrong with."""
    return {f"{number:03d}.png": noise(number) for number in range(40)}


def test_nothing_is_found_where_nothing_is_wrong(make_set, usual):
    assert findings(make_set(usual)) == {}


def exif(value):
    tags = Image.Exif()
    tags[0x0112] = value
    return tags


def odd_images(noise):
    image, grey = noise(99), noise(99).convert("L")
    wide = Image.fromarray(np.asarray(grey).astype(np.uint16) * 257)
    frames = [noise(99).convert("P"), noise(98).convert("P")]
    huge = image.resize((4200, 4000), Image.Resampling.NEAREST)
    animation = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    transparent = image.copy()
    transparent.putalpha(grey)
    return {
        "grey-images": ("x.png", grey),
        "alpha-images": ("x.png", transparent),
        "palette-images": ("x.png", image.convert("P")),
        "cmyk-images": ("x.jpg", image.convert("CMYK")),
        "16-bit-images": ("x.png", wide),
        "1-bit-images": ("x.png", grey.convert("1")),
        "animated-images": ("x.gif", animation),
        "turned-images": ("x.jpg", encoded(image, "JPEG", exif=exif(6))),
        "wrong-suffix": ("x.jpg", encoded(image, "PNG")),
        "cut-images": ("x.png", encoded(image, "PNG")[:-12]),
        "huge-images": (
            "x.png",
            encoded(huge, "PNG", compress_level=1),
        ),
        "tiny-images": ("x.png", image.resize((3, 5))),
        "size-outliers": ("x.png", image.resize((320, 480))),
        "aspect-outliers": ("x.png", image.resize((80, 20))),
        "faint-images": ("x.png", image.point(lambda value: 125 + value // 20)),
    }


ODD = (
    *("grey-images", "alpha-images", "palette-images", "cmyk-images", "16-bit-images"),
    *("1-bit-images", "animated-images", "turned-images", "wrong-suffix", "cut-images"),
    *("huge-images", "tiny-images", "size-outliers", "aspect-outliers", "faint-images"),
)


@pytest.mark.parametrize("code", ODD)
def test_an_image_unlike_the_others_is_named(code, make_set, usual, noise):
    name, content = odd_images(noise)[code]
    found = findings(make_set({**usual, name: content}))
    assert list(found) == [code]
    assert found[code].severity == "warning"
    assert found[code].examples[0].startswith(name)


def test_a_16_bit_colour_image_is_one_though_pillow_opens_it_as_8(make_set, usual):
    # Pillow cannot write it: the header of an 8-bit image says 16 bits, its lines are filled up.
    import struct
    import zlib

    pixels = np.random.default_rng(0).integers(0, 2**16, (48, 32, 3), dtype=np.uint16)
    lines = b"".join(b"\0" + line.astype(">u2").tobytes() for line in pixels)

    def chunk(kind, data):
        checked = kind + data
        return struct.pack(">I", len(data)) + checked + struct.pack(">I", zlib.crc32(checked))

    header = struct.pack(">IIBBBBB", 32, 48, 16, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    data += chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    assert list(findings(make_set({**usual, "x.png": data}))) == ["16-bit-images"]


def test_what_a_large_part_of_the_set_is_like_is_information(make_set, usual, noise):
    grey = {f"g{number}.png": noise(200 + number).convert("L") for number in range(20)}
    found = findings(make_set({**usual, **grey}))
    assert found["grey-images"].severity == "info"
    assert "20 images are grey in a set of colour images (40 of 60)" in found["grey-images"].message


def test_infrared_images_are_grey_and_said_to_be(make_set, usual, noise):
    files = {**usual, "x.png": noise(99).convert("L")}
    modalities = np.array(["rgb"] * 40 + ["infrared"])
    assert findings(make_set(files, columns={"modalities": modalities})) == {}


def test_blank_images_are_told_once(make_set, usual):
    blank = {f"b{value}.png": Image.new("RGB", (32, 48), (value, 9, 200)) for value in (0, 0, 255)}
    found = findings(make_set({**usual, **blank, "c.png": Image.new("RGB", (32, 48), 7)}))
    assert list(found) == ["blank-images"]
    assert found["blank-images"].count == 3


def test_a_negative_among_drawings_is_far_too_dark(make_set):
    files = {}
    for number in range(30):
        pixels = np.full((40, 40), 250, np.uint8)
        for row, column in np.random.default_rng(number).integers(0, 36, (12, 2)):
            pixels[row : row + 4, column : column + 4] = 10
        files[f"{number:02d}.png"] = Image.fromarray(pixels)
    files["x.png"] = files["07.png"].point(lambda value: 255 - value)
    files["07.png"] = files["07.png"].rotate(90)
    assert list(findings(make_set(files))) == ["brightness-outliers"]


def test_case_b013_broken_files_are_listed_with_the_reason(make_set, usual, noise):
    jpeg = encoded(noise(1, (64, 128)), "JPEG")
    broken = {"a.jpg": jpeg[: len(jpeg) // 2], "b.jpg": b"", "c.png": b"<html>404</html>"}
    found = findings(make_set({**broken, **usual}))
    assert list(found) == ["broken-images"]
    assert found["broken-images"].severity == "error"
    first, second, third = found["broken-images"].examples
    assert first.startswith("a.jpg: ")
    assert second == "b.jpg: empty (0 bytes)"
    assert third == "c.png: it is no image of a known format"
    assert "data.broken_images=skip" in found["broken-images"].advice


def test_a_box_outside_of_its_photograph_is_broken(make_set, noise):
    boxes = np.array([[0, 0, 16, 24], [8, 8, 16, 24], [40, 0, 8, 8]], dtype=float)
    rows = [("a.png", pid, 1, "train") for pid in (1, 2, 3)]
    manifest = make_set({"a.png": noise(0)}, rows, columns={"boxes": boxes})
    scan = scan_images([manifest])
    assert scan.facts["width"].tolist() == [16, 16, 0]
    (fault,) = scan.faults.values()
    assert "its box x 40, y 0, width 8, height 8 lies outside" in fault.reason


def test_rows_of_several_sets_keep_their_places(make_set, noise):
    first = make_set({"z.png": noise(0, (20, 30)), "a.png": noise(1, (21, 30))})
    second = make_set({"b.png": noise(2, (22, 30)), "c.png": b"x"})
    scan = scan_images([first, second])
    assert scan.facts["width"].tolist() == [20, 21, 22, 0]
    assert list(scan.faults) == [3]


def test_streaming_keeps_order_and_does_not_run_ahead():
    taken = []

    def items():
        for number in range(500):
            taken.append(number)
            yield number

    results = streamed(lambda number: number * 2, items())
    assert [next(results) for _ in range(3)] == [0, 2, 4]
    assert len(taken) < 40
    assert list(results) == [2 * number for number in range(3, 500)]


def copies(make_set, usual, extra, rows):
    listed = [(name, number, 1, "train") for number, name in enumerate(usual)]
    manifest = make_set({**usual, **extra}, [*listed, *rows])
    scan = scan_images([manifest])
    labels = RowLabels.of([manifest])
    found = [*check_duplicates(scan, labels), *check_near_duplicates(scan, labels)]
    return {finding.code: finding for finding in found}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        (("x.png", 77, 1, "gallery"), "duplicates-train-and-test"),
        (("x.png", 77, 1, "train"), "duplicates-other-identity"),
        (("x.png", 3, 1, "train"), "duplicates-same-identity"),
    ],
)
def test_the_same_pixels_are_told_by_where_they_stand(row, code, make_set, usual):
    (found,) = copies(make_set, usual, {"x.png": usual["003.png"]}, [row]).values()
    assert found.code == code
    assert found.examples == (f"003.png (train, identity 3) = x.png ({row[3]}, identity {row[1]})",)


def test_a_copy_in_query_and_gallery_says_how_many_differ_in_identity(make_set, usual, noise):
    extra = {name: noise(500) for name in ("q.png", "g.png")}
    rows = [("q.png", 70, 1, "query"), ("g.png", 71, 2, "gallery")]
    found = copies(make_set, usual, extra, rows)
    assert list(found) == ["duplicates-query-and-gallery"]
    message = found["duplicates-query-and-gallery"].message
    assert message.endswith("where a query finds itself (1 under different identities)")


def test_what_was_saved_anew_without_loss_is_the_same(make_set, usual):
    extra = {"x.bmp": usual["003.png"].copy()}
    found = copies(make_set, usual, extra, [("x.bmp", 77, 1, "query")])
    message = found["duplicates-train-and-test"].message
    assert "(1 of them saved anew without loss, 1 under different identities)" in message


def test_a_file_that_is_listed_twice_is_no_copy(make_set, usual):
    assert copies(make_set, usual, {}, [("003.png", 77, 1, "query")]) == {}


CHANGES = {
    "smaller": lambda image: image.resize((20, 30)),
    "larger": lambda image: image.resize((100, 150)),
    "compressed": lambda image: Image.open(io.BytesIO(encoded(image, "JPEG", quality=80))),
    "darker": lambda image: image.point(lambda value: int(value * 0.7) + 10),
    "blurred": lambda image: image.filter(ImageFilter.GaussianBlur(0.7)),
    "mirrored": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT).resize((40, 60)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_same_picture_is_found_however_it_was_changed(change, make_set, usual):
    extra = {"x.png": CHANGES[change](usual["003.png"])}
    found = copies(make_set, usual, extra, [("x.png", 77, 1, "gallery")])
    assert list(found) == ["near-duplicates-train-and-test"]
    assert found["near-duplicates-train-and-test"].examples == (
        "003.png (train, identity 3) = x.png (gallery, identity 77)",
    )


def test_a_picture_in_which_something_else_stands_is_another_one(make_set, usual):
    changed = np.asarray(usual["003.png"]).copy()
    changed[10:26, 8:20] = 255 - changed[10:26, 8:20]
    extra = {"x.png": Image.fromarray(changed)}
    assert copies(make_set, usual, extra, [("x.png", 77, 1, "gallery")]) == {}


def test_without_small_versions_near_copies_are_not_looked_for(make_set, usual):
    manifest = make_set({**usual, "x.png": usual["003.png"].resize((20, 30))})
    assert list(findings(manifest)) == ["near-duplicates-other-identity"]
    scan = scan_images([manifest], keeps_thumbnails=False)
    assert list(check_images(scan)) == []


def test_a_picture_that_lies_there_several_times_is_compared_once(make_set, usual):
    extra = dict.fromkeys(("a.png", "b.png", "c.png"), usual["003.png"])
    extra["x.png"] = usual["003.png"].resize((20, 30))
    rows = [("a.png", 3, 1, "train"), ("b.png", 50, 1, "train"), ("c.png", 51, 1, "query")]
    found = copies(make_set, usual, extra, [*rows, ("x.png", 3, 1, "gallery")])
    near = found["near-duplicates-train-and-test"]
    assert near.message.startswith("1 pair of pictures is the same, resized, compressed anew,")
    assert near.examples == ("003.png (train, identity 3) = x.png (gallery, identity 3)",)


def test_of_a_picture_with_several_labels_the_one_that_does_harm_is_told(make_set, usual):
    extra = {"a.png": usual["003.png"], "x.png": usual["003.png"].resize((20, 30))}
    rows = [("a.png", 51, 1, "query"), ("x.png", 3, 1, "train")]
    near = copies(make_set, usual, extra, rows)["near-duplicates-train-and-test"]
    assert near.examples == ("a.png (query, identity 51) = x.png (train, identity 3)",)


def frames(number, noise):
    """Frames of a fixed camera, each with something else in it."""
    scene = np.asarray(noise(1, (96, 64)))
    for place in range(number):
        frame = scene.copy()
        row, column = (12 * part for part in divmod(place, 6))
        frame[row + 8 : row + 20, column + 12 : column + 24] += 128
        yield Image.fromarray(frame)


@pytest.mark.parametrize("limit", ["_MOST_ALIKE", "_FEWEST_PAIRS"])
def test_what_is_not_compared_is_said(limit, make_set, noise, monkeypatch):
    monkeypatch.setattr(near_candidates, limit, 3)
    pictures = {f"{number:02d}.png": frame for number, frame in enumerate(frames(24, noise))}
    pictures["x.png"] = pictures["07.png"].resize((48, 32))
    found = findings(make_set(pictures))
    # The copy is the most alike one, so it is found nevertheless.
    assert found["near-duplicates-other-identity"].count == 1
    limited = found["similar-pictures-not-compared"]
    assert (limited.severity, limited.dataset, limited.count) == ("info", "zoo", 25)
    assert limited.message.startswith("25 pictures look like more others than there is time to")


def two_sets(make_set, usual, splits, pids):
    first = make_set(usual)
    listed = [(name, pid, 1, split) for name, pid, split in zip(usual, pids, splits, strict=False)]
    second = replace(make_set({}, listed), name="farm")
    return {finding.code: finding for finding in check_images(scan_images([first, second]))}


def test_copies_in_two_sets_are_not_said_to_differ_in_identity(make_set, usual):
    found = two_sets(make_set, usual, ["query", "gallery"], [1, 77])
    copy = found["duplicates-train-and-test"]
    assert copy.message.startswith("2 images are the same pixel for pixel in training and in the")
    assert copy.message.endswith("(in two sets)")
    assert copy.examples[0] == (
        "000.png (train, identity 1 of set zoo) = 000.png (query, identity 1 of set farm)"
    )


def test_copies_that_two_sets_train_on_stand_for_two_identities(make_set, usual):
    copy = two_sets(make_set, usual, ["train"], [1])["duplicates-other-identity"]
    assert copy.message == (
        "1 image is the same pixel for pixel in two sets, which are trained as two identities"
    )
    assert copy.advice == "take them out of one of the two sets"


def test_parts_of_one_set_number_their_identities_together(make_set, usual):
    whole = make_set(usual)
    parts = [whole.take(np.arange(20)), whole.take(np.arange(10, 40))]
    labels = RowLabels.of(parts)
    assert labels.pids[10:20].tolist() == labels.pids[20:30].tolist()
    other = RowLabels.of([parts[0], replace(parts[1], name="farm")])
    assert not set(other.pids[:20].tolist()) & set(other.pids[20:].tolist())


def test_frames_of_one_identity_in_one_split_are_not_compared(make_set, usual):
    extra = {"x.png": usual["003.png"].resize((20, 30))}
    assert copies(make_set, usual, extra, [("x.png", 3, 1, "train")]) == {}
