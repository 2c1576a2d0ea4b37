from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from reid_core.cli.data import main
from reid_core.config import load_config
from reid_core.data.datasets.csv_table import csv_table


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["split", *map(str, arguments)])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Ten identities with three images of each of two cameras, and one with a single image."""
    lines = ["path,pid,camid"]
    for pid in range(10):
        lines += [f"i/{pid}_{n}.jpg,p{pid},c{n % 2}" for n in range(6)]
    lines.append("i/alone.jpg,alone,c0")
    (tmp_path / "i").mkdir()
    for line in lines[1:]:
        (tmp_path / line.partition(",")[0]).touch()
    path = tmp_path / "raw.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_the_outcome_is_counted_and_the_next_command_works(
    table: Path, tiny_recipe: Path, tmp_path: Path
) -> None:
    out = tmp_path / "mine.csv"
    result = run(table, "-o", out)
    assert result.exit_code == 0, result.output
    first, second, last = result.stdout.splitlines()
    assert first == (
        f"wrote {out}: train 43 images of 8 ids, query 6 images of 3 ids, gallery 12 images of "
        "3 ids, 2 cameras"
    )
    assert second == (
        "      1 identity cannot be tested: not seen by two cameras; they went to training"
    )
    words = shlex.split(last.removeprefix("next  "))
    assert words[:2] == ["reid-train", "--config"]
    config = load_config(tiny_recipe, [words[-1]])
    assert config.data.train[0].as_call() == {"name": "csv", "file": out.as_posix()}
    assert csv_table(out).count("query") == (6, 3)


def test_json_says_the_same(table: Path, tmp_path: Path) -> None:
    result = run(table, "-o", tmp_path / "a.csv", "--open-set", 0.4, "--json", "--seed", 3)
    plain = json.loads(result.stdout)
    assert (plain["schema"], plain["by"], plain["seed"]) == (1, "identity", 3)
    (one,) = plain["tables"]
    assert one["splits"]["query"] == {"images": 6, "identities": 3}
    assert one["splits"]["gallery"] == {"images": 8, "identities": 2}
    assert (one["unknown_identities"], one["leftover_identities"]) == (1, 1)
    assert one["left_out"] == {"of unknown identities, not drawn as a query": 4}


def test_the_same_seed_writes_the_same_bytes(table: Path, tmp_path: Path) -> None:
    contents = []
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        assert run(table, "-o", tmp_path / f"{name}.csv", "--seed", seed).exit_code == 0
        contents.append((tmp_path / f"{name}.csv").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_validation_is_cut_out_of_the_training_part(table: Path, tmp_path: Path) -> None:
    result = run(table, "-o", tmp_path / "mine.csv", "--val", 2)
    assert result.exit_code == 0, result.output
    whole, val = csv_table(tmp_path / "mine.csv"), csv_table(tmp_path / "mine_val.csv")
    trained = set(whole.select("train").paths.tolist())
    assert set(val.paths.tolist()) == trained
    assert val.count("query").identities == 2
    assert not set(val.select("query").pids) & set(val.select("train").pids)
    assert f"wrote {tmp_path / 'mine_val.csv'}: train 31 images" in result.stdout


def test_cameras_can_be_ignored(table: Path, tmp_path: Path) -> None:
    result = run(table, "-o", tmp_path / "mine.csv", "--ignore-cameras", "--query", 2)
    assert "cameras are not known: a query's matches may be of its own camera" in result.stdout
    read = csv_table(tmp_path / "mine.csv")
    assert not read.has_cameras
    assert read.count("query") == (6, 3)


def test_named_cameras_are_held_out(tmp_path: Path) -> None:
    lines = ["path,pid,camid"]
    lines += [f"{pid}_{cam}.jpg,{pid},{cam}" for pid in range(8) for cam in ("a", "b", "c")]
    for line in lines[1:]:
        (tmp_path / line.partition(",")[0]).touch()
    (tmp_path / "raw.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "mine.csv"
    result = run(tmp_path / "raw.csv", "-o", out, "--by", "camera", "--cameras", "c, a")
    assert result.exit_code == 0, result.output
    assert "cameras held out: a, c" in result.stdout
    read = csv_table(out)
    assert set(read.select("train").camids.tolist()) == {"b"}


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--test", "0"], 2, "--test 0: expected a share between 0 and 1"),
        (["--val", "1.5"], 2, "--val 1.5: expected a share between 0 and 1"),
        (["--by", "day"], 2, "Invalid value for '--by'"),
        (["--cameras", "1,2"], 2, "--cameras belongs to --by camera"),
        (["--test", "99"], 3, "only 10 of 11 identities can be tested"),
        (["--by", "time"], 3, "--by time needs a column times, frames or sequences"),
    ],
)
def test_what_cannot_be_leaves_nothing_behind(
    options: list[str], code: int, message: str, table: Path, tmp_path: Path
) -> None:
    result = run(table, "-o", tmp_path / "mine.csv", *options)
    assert result.exit_code == code
    assert message in result.stderr
    assert not (tmp_path / "mine.csv").exists()


NOTE = "note: splits of the data left aside, since they are not understood: dev, val\n"


def resplit(table: Path, splits: list[str], column: str = "split") -> Path:
    """Add a column of splits to the table; rows take them in turn."""
    header, *lines = table.read_text().splitlines()
    lines = [f"{line},{splits[row % len(splits)]}" for row, line in enumerate(lines)]
    path = table.with_name("splits.csv")
    path.write_text("\n".join([f"{header},{column}", *lines]) + "\n")
    return path


def test_splits_that_are_not_understood_are_left_aside_like_the_others(
    table: Path, tmp_path: Path
) -> None:
    source = resplit(table, ["train", "val", "test", "dev"])
    result = run(source, "-o", tmp_path / "mine.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr == NOTE
    assert run(table, "-o", tmp_path / "plain.csv").exit_code == 0
    assert (tmp_path / "mine.csv").read_bytes() == (tmp_path / "plain.csv").read_bytes()


def test_what_is_said_of_splits_still_holds(table: Path, tmp_path: Path) -> None:
    source = resplit(table, ["train", "val", "bad", "dev"])
    result = run(source, "-o", tmp_path / "mine.csv", "--param", "splits={bad: null}")
    assert result.exit_code == 0, result.output
    assert result.stderr.splitlines() == ["note: 15 rows left out, as splits says", NOTE.strip()]
    assert len(csv_table(tmp_path / "mine.csv")) == 46


def test_rows_that_are_query_and_gallery_at_once_are_cut_anew(table: Path, tmp_path: Path) -> None:
    source = resplit(table, ["1"], "is_gallery")
    source = resplit(source, ["1", "0"], "is_query")
    result = run(source, "-o", tmp_path / "mine.csv")
    assert result.exit_code == 0, result.output
    assert "left aside, since they are not understood: is_query, is_gallery" in result.stderr


def test_other_mistakes_of_the_data_are_still_told(table: Path, tmp_path: Path) -> None:
    source = resplit(table, ["0", "x"], "frames")
    result = run(source, "-o", tmp_path / "mine.csv")
    assert result.exit_code == 3
    assert "column frames: got 'x'; expected a number" in result.stderr


def test_notes_of_the_reader_and_odd_spellings_are_printed(table: Path, tmp_path: Path) -> None:
    lines = table.read_text().splitlines()
    lines += [f'i/0_0.jpg,"P{pid} ",c0' for pid in range(4)] + [lines[1]]
    table.write_text("\n".join(lines) + "\n")
    note = "5 rows repeat an image of the same split, for example i/0_0.jpg"
    warning = (
        "4 identities may be spelled in several ways, and count as different ones, for example "
        "'P0 ' = 'p0'; 'P1 ' = 'p1'; 'P2 ' = 'p2'; if they are the same, spell them alike: upper "
        "and lower case, leading zeros and blanks tell them apart"
    )
    result = run(table, "-o", tmp_path / "a.csv")
    assert result.exit_code == 0, result.output
    assert result.stderr == f"note: {note}\nwarning: {warning}\n"
    result = run(table, "-o", tmp_path / "b.csv", "--json")
    plain = json.loads(result.stdout)
    assert (plain["notes"], plain["warnings"], result.stderr) == ([note], [warning], "")


def test_a_training_part_too_small_for_validation_is_said_to_be_that(
    table: Path, tmp_path: Path
) -> None:
    result = run(table, "-o", tmp_path / "mine.csv", "--test", 9, "--val", 0.5)
    assert result.exit_code == 3
    assert "it has 2 identities, and a split needs 3 at least" in result.stderr
    assert "  this is --val, which cuts the training part once more" in result.stderr
    assert not (tmp_path / "mine.csv").exists()


def test_neither_of_two_tables_is_written_over(table: Path, tmp_path: Path) -> None:
    (tmp_path / "mine_val.csv").write_text("old")
    result = run(table, "-o", tmp_path / "mine.csv", "--val", 2)
    assert result.exit_code == 2
    assert "mine_val.csv is there already" in result.stderr
    assert not (tmp_path / "mine.csv").exists()
    assert run(table, "-o", tmp_path / "mine.csv", "--val", 2, "--force").exit_code == 0
