"""A contact sheet as one picture."""

from __future__ import annotations

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from reid_core.report.contact_sheet.choice import SheetImage, SheetRow

#: Width and height of the space for a picture, in pixels.
CELL = (112, 144)
_LEFT, _GAP, _LINE = 150, 8, 18
_HEAD = 44
_INK, _FAINT, _PAPER, _BROKEN = "#1f2328", "#57606a", "#ffffff", "#b42318"

_Font = ImageFont.ImageFont | ImageFont.FreeTypeFont


def draw_sheet(rows: Sequence[SheetRow], *, title: str) -> Image.Image:
    """Draw identities below each other, and their pictures beside each other.

    Args:
        rows: The identities.
        title: What is written above.

    Returns:
        The sheet, RGB.
    """
    columns = max((len(row.images) for row in rows), default=1)
    height = CELL[1] + _LINE + _GAP
    sheet = Image.new(
        "RGB", (_LEFT + columns * (CELL[0] + _GAP), _HEAD + len(rows) * height), _PAPER
    )
    draw = ImageDraw.Draw(sheet)
    font, large = ImageFont.load_default(12), ImageFont.load_default(16)
    draw.text((_GAP, 12), _fit(title, large, sheet.width - 2 * _GAP), fill=_INK, font=large)
    for number, row in enumerate(rows):
        top = _HEAD + number * height
        draw.line([_GAP, top - _GAP // 2, sheet.width - _GAP, top - _GAP // 2], fill="#d5dae0")
        draw.text((_GAP, top + 6), _fit(row.pid, large, _LEFT - 2 * _GAP), fill=_INK, font=large)
        draw.text((_GAP, top + 30), row.label, fill=_FAINT, font=font)
        for place, one in enumerate(row.images):
            _draw_image(sheet, draw, one, (_LEFT + place * (CELL[0] + _GAP), top), font)
    return sheet


def _draw_image(
    sheet: Image.Image,
    draw: ImageDraw.ImageDraw,
    one: SheetImage,
    corner: tuple[int, int],
    font: _Font,
) -> None:
    left, top = corner
    if one.picture is None:
        right, bottom = left + CELL[0] - 1, top + CELL[1] - 1
        draw.rectangle([left, top, right, bottom], fill="#f3f4f6", outline=_BROKEN)
        draw.line([left, top, right, bottom], fill=_BROKEN)
        draw.line([left, bottom, right, top], fill=_BROKEN)
        name = _fit(one.path.rpartition("/")[2], font, CELL[0] - 4)
        draw.text((left + CELL[0] // 2, bottom - 6), name, fill=_BROKEN, font=font, anchor="ms")
    else:
        width, height = one.picture.size
        sheet.paste(one.picture, (left + (CELL[0] - width) // 2, top + (CELL[1] - height) // 2))
    label = one.label if one.picture is not None else f"broken · {one.label}"
    middle = (left + CELL[0] // 2, top + CELL[1] + 2)
    draw.text(middle, _fit_label(label, font, CELL[0]), fill=_FAINT, font=font, anchor="ma")


def _fit_label(text: str, font: _Font, width: int) -> str:
    """Shorten a label, and keep its last part, which says what the image is for."""
    first, separator, last = text.rpartition(" · ")
    rest = f"{separator}{last}"
    if not separator or font.getlength(text) <= width:
        return _fit(text, font, width)
    return _fit(first, font, int(width - font.getlength(rest))) + rest


def _fit(text: str, font: _Font, width: int) -> str:
    """Shorten a text to a width in pixels."""
    if font.getlength(text) <= width:
        return text
    while text and font.getlength(f"{text}…") > width:
        text = text[:-1]
    return f"{text}…"
