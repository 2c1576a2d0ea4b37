from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from PIL import Image

from reid_core.errors import UsageError
from reid_core.report.rate_plot import require_ending, write_rate_plot
from reid_core.report.records import Series

SERIES = Series("lr", tuple(range(100)), tuple(0.1 * (1 - step / 100) for step in range(100)))


def write(path: Path) -> Path:
    epochs = {0: 0.0, 50: 1.0, 100: 2.0}
    write_rate_plot(path, SERIES, title="Rate of a<b", text="2 epochs.", epochs=epochs)
    return path


def test_an_svg_stands_on_its_own(tmp_path):
    root = ElementTree.parse(write(tmp_path / "lr.svg")).getroot()
    space = "{http://www.w3.org/2000/svg}"
    assert root.tag == f"{space}svg"
    assert root.find(f"{space}title").text == "Rate of a<b"
    assert ".curve" in root.find(f"{space}style").text
    assert len(root.findall(f"{space}path")) == 1
    assert "ep 1" in [text.text for text in root.findall(f"{space}text")]


def test_a_page_holds_drawing_heading_and_sentence_escaped(tmp_path):
    text = write(tmp_path / "lr.HTML").read_text(encoding="utf-8")
    assert "<h1>Rate of a&lt;b</h1><p>2 epochs.</p>" in text
    assert text.count("<svg") == 1
    assert 'class="curve s0"' in text


def test_a_picture_shows_the_curve(tmp_path):
    with Image.open(write(tmp_path / "lr.png")) as image:
        counts = {colour: count for count, colour in image.convert("RGB").getcolors(1 << 20)}
        assert image.size == (720, 460)
    assert counts[0x0B, 0x57, 0xB7] > 500


def test_another_ending_and_a_folder_that_is_not_there_are_refused(tmp_path):
    with pytest.raises(UsageError, match=r"lr.gif: expected a name that ends in .svg, .html, .png"):
        require_ending(Path("lr.gif"))
    with pytest.raises(UsageError, match="cannot be written: No such file or directory"):
        write(tmp_path / "none" / "lr.svg")
