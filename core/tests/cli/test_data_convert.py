from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.data import main
from reid_core.data.datasets.csv_table import csv_table
from reid_core.data.datasets.market1501 import market1501


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["convert", *map(str, arguments)])


def test_a_table_holds_the_rows_and_says_what_to_type_next(
    tiny_market: Path, tmp_path: Path
) -> None:
    table = tmp_path / "mine.csv"
    result = run(tiny_market, "-o", table)
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first == f"wrote {table}: {market1501(tiny_market).summary().partition(': ')[2]}"
    assert second == (
        "next  reid-train --config osnet/osnet_x0_25 --set "
        f"'data.train={{name: csv, file: {table.as_posix()}}}'"
    )
    source, read = market1501(tiny_market), csv_table(table)
    assert read.pids.tolist() == source.pids.tolist()
    assert read.splits.tolist() == source.splits.tolist()
    assert [read.images.read(path) for path in read.paths.tolist()[:3]] == [
        source.images.read(path) for path in source.paths.tolist()[:3]
    ]


def test_copies_make_a_folder_that_stands_alone(tiny_market: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_market, tmp_path / "raw")
    out = tmp_path / "out put" / "mine.csv"
    assert run(tmp_path / "raw", "-o", out, "--copy", out.parent / "images").exit_code == 0
    shutil.rmtree(tmp_path / "raw")
    read = csv_table(out)
    assert all(path.startswith("images/") for path in read.paths.tolist())
    assert len({read.images.read(path) for path in read.paths.tolist()}) > 1


def test_notes_of_the_reader_are_printed(tiny_market: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_market, tmp_path / "raw")
    (tmp_path / "raw" / "query" / "holiday.jpg").touch()
    result = run(tmp_path / "raw", "-o", tmp_path / "mine.csv")
    (note,) = [one for one in market1501(tmp_path / "raw").notes if "holiday.jpg" in one]
    assert f"note: {note}\n" in result.stderr


def test_data_without_a_split_is_to_be_cut_next(tiny_market: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_market / "bounding_box_train", tmp_path / "a" / "bounding_box_train")
    last = run(tmp_path / "a", "-o", tmp_path / "mine.csv").stdout.splitlines()[-1]
    assert last == f"next  reid-data split {tmp_path / 'mine.csv'} -o split.csv"


def test_distractors_are_named_where_there_are_some(tiny_market: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny_market, tmp_path / "raw")
    test = tmp_path / "raw" / "bounding_box_test"
    shutil.copy(next(test.iterdir()), test / "0000_c1s1_000001_00.jpg")
    last = run(tmp_path / "raw", "-o", tmp_path / "mine.csv").stdout.splitlines()[-1]
    assert last.endswith("mine.csv, distractors: [0]}'")


def test_names_that_yaml_would_misread_are_quoted(tiny_market: Path, tmp_path: Path) -> None:
    table = tmp_path / "a, {b} 数据.csv"
    last = run(tiny_market, "-o", table).stdout.splitlines()[-1]
    assert f'file: "{table.as_posix()}"' in last


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("mine.xlsx", [], "-o {0}/mine.xlsx: expected a name that ends in .csv or .parquet"),
        ("there.csv", [], "-o {0}/there.csv is there already; another name, or --force"),
        ("folder.csv", [], "-o {0}/folder.csv: this is a folder; name a file"),
        ("mine.csv", ["--copy", "{0}/folder.csv"], "--copy {0}/folder.csv is there already"),
    ],
)
def test_nothing_is_written_over(
    name: str, options: list[str], message: str, tiny_market: Path, tmp_path: Path
) -> None:
    (tmp_path / "there.csv").write_text("old")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.csv" / "image.jpg").write_text("old")
    options = [option.format(tmp_path) for option in options]
    result = run(tiny_market, "-o", tmp_path / name, *options)
    assert result.exit_code == 2
    assert message.format(tmp_path) in result.stderr
    assert (tmp_path / "there.csv").read_text() == "old"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder.csv", "there.csv"]


def test_force_replaces_a_table(tiny_market: Path, tmp_path: Path) -> None:
    (tmp_path / "there.csv").write_text("old")
    assert run(tiny_market, "-o", tmp_path / "there.csv", "--force").exit_code == 0
    assert len(csv_table(tmp_path / "there.csv")) > 48


def test_several_sets_are_not_put_into_one_table(
    tiny_recipe: Path, tiny_market: Path, tmp_path: Path
) -> None:
    other = f"data.test={{name: market1501, root: '{tiny_market.as_posix()}', title: other}}"
    result = run(tiny_recipe, "--set", other, "-o", tmp_path / "mine.csv")
    assert result.exit_code == 2
    assert "names 2 data sets (market1501, other), and a table holds one" in result.stderr
