from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from PIL import Image

from reid_core.cli.data import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["preview", *map(str, arguments)])


def test_a_sheet_is_drawn(tiny_market: Path, tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.png"
    result = run(tiny_market, "-o", sheet, "--identities", 3, "--images", 2, "--split", "train")
    assert result.exit_code == 0, result.output
    assert result.stdout == (f"drawn {sheet}: 6 images of 3 of 6 identities, drawn with seed 0\n")
    with Image.open(sheet) as drawn:
        assert min(drawn.size) > 300


def test_the_same_seed_draws_the_same_bytes(tiny_market: Path, tmp_path: Path) -> None:
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        options = ["--seed", seed, "--identities", 2, "--images", 2]
        assert run(tiny_market, "-o", tmp_path / f"{name}.png", *options).exit_code == 0
        contents.append((tmp_path / f"{name}.png").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_a_page_is_written(tiny_market: Path, tmp_path: Path) -> None:
    assert run(tiny_market, "-o", tmp_path / "sheet.html", "--images", 3).exit_code == 0
    text = (tmp_path / "sheet.html").read_text(encoding="utf-8")
    assert "10 of 10 identities, drawn with seed 0" in text
    assert text.count("<img") == 30


def test_broken_images_are_drawn_as_such_and_named(tiny_market: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(tiny_market, copy)
    for path in (copy / "query").iterdir():
        path.write_bytes(b"")
    result = run(copy, "-o", tmp_path / "sheet.html", "--split", "query")
    assert result.exit_code == 0
    assert "of them cannot be read, for example: image " in result.stderr
    assert "'reid-data check' lists every one" in result.stderr
    assert "broken</div>" in (tmp_path / "sheet.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "options", "code", "message"),
    [
        ("sheet.jpg", [], 2, "expected a name that ends in .png or .html"),
        ("there.png", [], 2, "is there already; another name, or --force to replace it"),
        ("there.png", ["--force"], 0, ""),
        ("sheet.png", ["--identities", "0"], 2, "Invalid value for '--identities'"),
    ],
)
def test_what_cannot_be_drawn_says_why(
    name: str, options: list[str], code: int, message: str, tiny_market: Path, tmp_path: Path
) -> None:
    (tmp_path / "there.png").write_text("old")
    result = run(tiny_market, "-o", tmp_path / name, *options)
    assert result.exit_code == code
    assert message in result.stderr
    assert code == 0 or (tmp_path / "there.png").read_text() == "old"


def test_a_split_without_images_is_named(tiny_market: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_market / "bounding_box_train", tmp_path / "only" / "bounding_box_train")
    result = run(tmp_path / "only", "-o", tmp_path / "sheet.png", "--split", "query")
    assert result.exit_code == 3
    assert "data set market1501: it has no query images; leave --split out" in result.stderr
