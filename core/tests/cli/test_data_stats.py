from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner, Result

from reid_core.cli.data import main


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["stats", *map(str, arguments)])


def test_splits_cameras_and_sizes_are_told(tiny_market: Path) -> None:
    result = run(tiny_market)
    assert result.exit_code == 0, result.output
    lines = [line.strip() for line in result.stdout.splitlines()]
    assert lines[0] == f"market1501 ({tiny_market})"
    assert "train: 48 images of 6 identities, 2 cameras" in lines
    assert "images per identity: 8 to 8, median 8, mean 8.00" in lines
    assert "cameras per identity: 2 to 2, median 2, mean 2.00" in lines
    assert "camera 1: 24 images of 6 identities" in lines
    assert "sizes in pixels, from the headers of all images:" in lines
    assert "height / width: 2 to 2, median 2" in lines


def test_json_has_the_same_numbers(tiny_market: Path) -> None:
    (plain,) = json.loads(run(tiny_market, "--json").stdout)["sets"]
    train = plain["splits"][0]
    assert (train["split"], train["images"], train["identities"]) == ("train", 48, 6)
    assert train["cameras"] == [
        {"camera": 1, "images": 24, "identities": 6},
        {"camera": 2, "images": 24, "identities": 6},
    ]
    assert plain["sizes"]["width"]["minimum"] == plain["sizes"]["width"]["maximum"]
    assert plain["sizes"]["unreadable"] == 0


def test_every_set_of_a_recipe_is_told(tiny_recipe: Path, tiny_market: Path) -> None:
    other = f"data.test={{name: market1501, root: '{tiny_market.as_posix()}', title: other}}"
    result = run(tiny_recipe, "--set", other, "--json", "--no-images")
    sets = json.loads(result.stdout)["sets"]
    assert [one["name"] for one in sets] == ["market1501", "other"]
    assert [one["sizes"] for one in sets] == [None, None]
    text = run(tiny_recipe, "--set", other, "--no-images").stdout
    assert text.count("market1501 (") == 1
    assert text.count("other (") == 1
    assert "sizes" not in text


def test_columns_and_unknown_cameras_are_told(tmp_path: Path) -> None:
    for name in ("1.jpg", "2.jpg", "3.jpg"):
        (tmp_path / name).write_bytes(b"no image")
    table = tmp_path / "mine.csv"
    table.write_text("path,pid,species,frames\n1.jpg,a,kudu,4\n2.jpg,a,nyala,9\n3.jpg,b,,1\n")
    lines = [line.strip() for line in run(table, "--dataset", "csv").stdout.splitlines()]
    assert "train: 3 images of 2 identities, cameras not known" in lines
    assert "column species: text; 2 different; kudu, nyala; 1 image without" in lines
    assert "column frames: integer; 1 to 9; 3 different" in lines
    assert "3 could not be opened, for example 1.jpg; 'reid-data check' says why" in lines


def test_many_cameras_are_cut_short(tmp_path: Path) -> None:
    rows = [f"{number}.jpg,p,{number}" for number in range(30)]
    for number in range(30):
        (tmp_path / f"{number}.jpg").touch()
    (tmp_path / "mine.csv").write_text("\n".join(["path,pid,camid", *rows]) + "\n")
    text = run(tmp_path / "mine.csv", "--no-images").stdout
    assert text.count("    camera ") == 24
    assert "and 6 more cameras; --json lists them all" in text


def test_a_missing_path_is_a_mistake_of_the_data() -> None:
    result = run("nowhere/at/all")
    assert result.exit_code == 3
    assert result.stderr.startswith("error: there is no file or folder nowhere/at/all, nor one")
