"""A contact sheet as a page that needs no other file."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence

from markupsafe import Markup
from PIL import Image

from reid_core.report.contact_sheet.choice import SheetImage, SheetRow

#: Width and height that each picture fits into, in pixels: sharp on a phone's screen.
PICTURE = (224, 288)
_JPEG_QUALITY = 85

_PAGE = Markup(
    '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    '<meta name="viewport" content="width=device-width, initial-scale=1">'
    "<title>{title}</title><style>"
    ":root{{color-scheme:light dark}}"
    "body{{font-family:system-ui,sans-serif;margin:1rem;line-height:1.4}}"
    "h1{{font-size:1.3rem}}h2{{font-size:1rem;margin:0;overflow-wrap:anywhere}}"
    "section{{border-top:1px solid #8884;padding:.6rem 0}}"
    "p,figcaption{{color:#6a737d;font-size:.8rem;margin:0;overflow-wrap:anywhere}}"
    ".images{{display:flex;flex-wrap:wrap;gap:.5rem;margin-top:.4rem}}"
    "figure{{margin:0;width:7rem;text-align:center}}"
    "figure img{{width:7rem;height:9rem;object-fit:contain}}"
    ".broken{{width:7rem;height:9rem;display:grid;place-content:center;color:#c4281c;"
    "border:1px solid #c4281c;box-sizing:border-box;font-size:.8rem}}"
    "</style></head><body><h1>{title}</h1><p>{text}</p>{rows}</body></html>\n"
)
_ROW = Markup('<section><h2>{pid}</h2><p>{label}</p><div class="images">{images}</div></section>\n')
_IMAGE = Markup(
    '<figure title="{path}"><img src="{uri}" alt="{path}" loading="lazy">'
    "<figcaption>{label}</figcaption></figure>"
)
_BROKEN = Markup(
    '<figure title="{problem}"><div class="broken" role="img" aria-label="{problem}">broken</div>'
    "<figcaption>{label}</figcaption></figure>"
)


def sheet_page(rows: Sequence[SheetRow], *, title: str, text: str) -> str:
    """Return the page.

    Args:
        rows: The identities.
        title: Its heading.
        text: A line below it.
    """
    parts = [
        _ROW.format(pid=row.pid, label=row.label, images=Markup("").join(map(_image, row.images)))
        for row in rows
    ]
    return str(_PAGE.format(title=title, text=text, rows=Markup("").join(parts)))


def _image(one: SheetImage) -> Markup:
    if one.picture is None:
        return _BROKEN.format(problem=one.problem, label=one.label)
    return _IMAGE.format(path=one.path, uri=_uri(one.picture), label=one.label)


def _uri(picture: Image.Image) -> str:
    buffer = io.BytesIO()
    picture.save(buffer, format="JPEG", quality=_JPEG_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(buffer.getvalue()).decode()}"
