from __future__ import annotations

import base64
import io
import re

from PIL import Image

from reid_core.report.contact_sheet.choice import SheetImage, SheetRow
from reid_core.report.contact_sheet.page import sheet_page


def page(*images: SheetImage, pid: str = "anna") -> str:
    return sheet_page([SheetRow(pid, 2, None, images)], title="my <data>", text="1 of 2 & more")


def test_the_page_holds_its_pictures_and_needs_nothing_else() -> None:
    text = page(SheetImage(Image.new("RGB", (30, 20), (9, 9, 200)), "c1", "query", "a/1.jpg"))
    (uri,) = re.findall(r'src="data:image/jpeg;base64,([^"]+)"', text)
    picture = Image.open(io.BytesIO(base64.b64decode(uri)))
    assert picture.size == (30, 20)
    assert not re.search(r'(?:src|href)="(?!data:)', text)
    assert "<script" not in text
    assert "camera c1 · query" in text
    assert 'name="viewport"' in text


def test_names_are_text_and_no_markup() -> None:
    picture = Image.new("RGB", (2, 2))
    text = page(SheetImage(picture, "", "train", '"><b>.jpg'), pid="<script>alert(1)</script>")
    assert "<script" not in text
    assert "<b>" not in text
    assert "my &lt;data&gt;" in text
    assert "1 of 2 &amp; more" in text


def test_a_broken_image_says_why() -> None:
    text = page(SheetImage(None, "", "train", "a/1.jpg", "image a/1.jpg is empty"))
    assert "broken</div>" in text
    assert 'title="image a/1.jpg is empty"' in text
    assert "<img" not in text
