from __future__ import annotations

import json
import shutil
from pathlib import Path

from click.testing import CliRunner, Result

from reid_core.cli.data import main
from reid_core.data.datasets.csv_table import csv_table
from reid_core.data.datasets.market1501 import market1501


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["sample", *map(str, arguments)])


def test_a_part_is_written_with_its_splits(tiny_market: Path, tmp_path: Path) -> None:
    out = tmp_path / "small.csv"
    result = run(tiny_market, "-o", out, "--identities", 2, "--images", 4)
    assert result.exit_code == 0, result.output
    first, last = result.stdout.splitlines()
    assert first.startswith(f"wrote {out}: train 8 images of 2 ids, query ")
    assert last.startswith("next  reid-train --config osnet/osnet_x0_25")
    read = csv_table(out)
    assert read.count("train") == (8, 2)
    assert read.count("query").identities == read.count("gallery").identities == 2


def test_json_counts_it(tiny_market: Path, tmp_path: Path) -> None:
    result = run(tiny_market, "-o", tmp_path / "a.csv", "--identities", 3, "--json")
    plain = json.loads(result.stdout)
    assert plain["splits"]["train"] == {"images": 24, "identities": 3}
    assert (plain["schema"], plain["seed"]) == (1, 0)


def test_notes_of_the_reader_are_printed(tiny_market: Path, tmp_path: Path) -> None:
    stray = tiny_market.parent / "with_stray"
    shutil.copytree(tiny_market, stray)
    (stray / "query" / "holiday.jpg").touch()
    (note,) = [one for one in market1501(stray).notes if "holiday.jpg" in one]
    result = run(stray, "-o", tmp_path / "a.csv")
    assert f"note: {note}\n" in result.stderr
    assert "note:" not in result.stdout
    plain = json.loads(run(stray, "-o", tmp_path / "b.csv", "--json").stdout)
    assert note in plain["notes"]


def test_less_than_two_of_anything_is_refused(tiny_market: Path, tmp_path: Path) -> None:
    result = run(tiny_market, "-o", tmp_path / "a.csv", "--images", 1)
    assert result.exit_code == 2
    assert "Invalid value for '--images'" in result.stderr


def test_data_without_a_test_is_to_be_cut_next(tmp_path: Path) -> None:
    lines = [f"{pid}_{n}.jpg,{pid}" for pid in range(4) for n in range(3)]
    for line in lines:
        (tmp_path / line.partition(",")[0]).touch()
    (tmp_path / "raw.csv").write_text("\n".join(["path,pid", *lines]) + "\n")
    result = run(tmp_path / "raw.csv", "-o", tmp_path / "small.csv", "--identities", 2)
    assert result.stdout.splitlines()[-1] == (
        f"next  reid-data split {tmp_path / 'small.csv'} -o split.csv"
    )


def test_a_table_that_is_there_is_kept(tiny_market: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("old")
    assert run(tiny_market, "-o", tmp_path / "a.csv").exit_code == 2
    assert (tmp_path / "a.csv").read_text() == "old"
