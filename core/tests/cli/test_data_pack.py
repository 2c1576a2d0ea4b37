"""``reid-data pack``."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

pytest.importorskip("lmdb")

from reid_core.cli.data import main
from reid_core.data.datasets.market1501 import market1501
from reid_core.data.datasets.packed import packed
from reid_core.data.image_rows import ImageRows


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["pack", *map(str, arguments)])


def test_a_folder_is_packed_and_read_again(tiny_market: Path, tmp_path: Path) -> None:
    done = run(tiny_market, "-o", tmp_path / "out")
    files = market1501(tiny_market)
    assert done.exit_code == 0, done.output
    count = len(files)
    line = done.stdout.strip()
    assert line.startswith(f"{tmp_path}/out: {count} images, {count} of them as they were, ")
    assert line.endswith(" MiB on disk")
    again = packed(tmp_path / "out")
    assert again.paths.tolist() == files.paths.tolist()
    # What was packed is a source itself.
    once_more = run(tmp_path / "out", "-o", tmp_path / "small", "--size", "16x8", "--quality", 60)
    assert once_more.exit_code == 0, once_more.output
    small = packed(tmp_path / "small")
    assert ImageRows([small]).read(0).shape == (3, 16, 8)
    assert small.notes[-1].endswith("stored as JPEG of quality 60")


def test_a_longest_side_keeps_the_aspect_ratio(tiny_market: Path, tmp_path: Path) -> None:
    done = run(tiny_market, "-o", tmp_path / "out", "--max-side", 20)
    assert done.exit_code == 0, done.output
    assert ImageRows([packed(tmp_path / "out")]).read(0).shape == (3, 20, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--size", "128"], "--size '128': expected height x width in pixels, such as 256x128"),
        (["--size", "0x8"], "--size '0x8': expected height x width in pixels"),
        (["--size", "16x8", "--max-side", "9"], "--size and --max-side exclude each other"),
        (["--quality", "0"], "0 is not in the range 1<=x<=100"),
    ],
)
def test_a_wrong_option_is_told(
    arguments: list[str], message: str, tiny_market: Path, tmp_path: Path
) -> None:
    done = run(tiny_market, "-o", tmp_path / "out", *arguments)
    assert done.exit_code == 2
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "out").exists()


def test_a_folder_in_use_is_left_alone(tiny_market: Path, tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    done = run(tiny_market, "-o", tmp_path)
    assert done.exit_code == 2
    assert f"{tmp_path} exists already; name a folder that does not" in done.stderr


def test_several_sets_are_packed_one_by_one(tiny_market: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "two.yaml"
    root = tiny_market.as_posix()
    recipe.write_text(
        f"data: {{train: [{{name: market1501, root: '{root}', title: one}}, "
        f"{{name: market1501, root: '{root}', title: two}}]}}"
    )
    done = run(recipe, "-o", tmp_path / "out")
    assert done.exit_code == 2
    assert f"SOURCE names 2 data sets: one ({root}), two ({root}); pack each on its own" in (
        done.stderr
    )


def test_without_the_extra_the_message_says_what_to_install(
    tiny_market: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lmdb", None)
    done = run(tiny_market, "-o", tmp_path / "out")
    assert done.exit_code == 3
    assert "pip install 'reid-core[lmdb]'" in done.stderr
