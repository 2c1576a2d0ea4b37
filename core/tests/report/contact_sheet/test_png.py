from __future__ import annotations

import numpy as np
from PIL import Image, ImageFont

from reid_core.report.contact_sheet.choice import SheetImage, SheetRow
from reid_core.report.contact_sheet.png import CELL, _fit_label, draw_sheet


def row(pid: str, *pictures: Image.Image | None) -> SheetRow:
    images = tuple(SheetImage(one, "1", "train", f"{pid}/1.jpg", "gone") for one in pictures)
    return SheetRow(pid, len(pictures), 1, images)


def test_pictures_are_drawn_unchanged_and_only_where_they_belong() -> None:
    green = Image.new("RGB", CELL, (0, 200, 0))
    sheet = np.asarray(draw_sheet([row("a", green), row("b", green, green)], title="mine"))
    assert (sheet == (0, 200, 0)).all(axis=2).sum() == 3 * CELL[0] * CELL[1]


def test_the_sheet_grows_with_rows_and_columns() -> None:
    green = Image.new("RGB", (4, 4))
    one = draw_sheet([row("a", green)], title="mine")
    more = draw_sheet([row("a", green, green), row("b", green)], title="mine")
    assert more.width > one.width
    assert more.height > one.height


def test_a_broken_image_is_crossed_out() -> None:
    sheet = np.asarray(draw_sheet([row("a", None)], title="mine")).astype(int)
    is_red = (sheet[..., 0] > 150) & (sheet[..., 1] < 60)
    assert is_red.sum() > 2 * sum(CELL)


def test_long_names_stay_inside_of_their_space() -> None:
    # Pictures this narrow leave paper on both sides of them, which a long text would run onto.
    narrow = Image.new("RGB", (4, CELL[1]), (0, 200, 0))
    named = SheetImage(narrow, "c" * 200, "train", "1.jpg")
    long = draw_sheet([SheetRow("n" * 200, 2, 1, (named, named))], title="t" * 500)
    short = draw_sheet([row("n", narrow, narrow)], title="t")
    assert long.size == short.size
    pixels = np.asarray(long)
    beside_the_name = pixels[50:70, 150:200]
    between_the_labels = pixels[44 + CELL[1] + 2 :, 150 + CELL[0] + 1 : 150 + CELL[0] + 7]
    assert (beside_the_name == 255).all()
    assert (between_the_labels == 255).all()


def test_no_rows_give_a_sheet_that_is_empty() -> None:
    assert draw_sheet([], title="mine").width > 100


def test_a_long_label_keeps_what_the_image_is_for() -> None:
    font = ImageFont.load_default(11)
    text = _fit_label("camera north entrance · gallery", font, 110)
    assert text.startswith("camera")
    assert text.endswith("… · gallery")
    assert font.getlength(text) <= 110
    assert _fit_label("camera 1 · query", font, 110) == "camera 1 · query"
